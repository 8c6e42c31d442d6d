use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

const PROGRAM: &str = "redis-server";
/// The environment variable that names the program to use instead of the one on the `PATH`.
const VARIABLE: &str = "LEASEHOLD_REDIS_SERVER";
const PATIENCE: Duration = Duration::from_secs(10);

/// The reason why no Redis server is available.
#[derive(Debug, thiserror::Error)]
pub enum RedisServerError {
    /// The program is not installed.
    #[error(
        "there is no `{program}`: install it (Debian: apt-get install redis-server), set its path in \
         LEASEHOLD_REDIS_SERVER, or use your own server with --url redis://HOST"
    )]
    NotInstalled {
        /// The program that was not found.
        program: String,
    },
    /// The program cannot be started.
    #[error("`{program}` cannot be started")]
    Start {
        /// The program.
        program: String,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The server has ended, or does not respond.
    #[error("`{program}` was started but does not respond at {url}")]
    Silent {
        /// The program.
        program: String,
        /// The URL of the server.
        url: String,
    },
}

/// The Redis server of an example: the server at a given URL, or a new one on a free port without persistence. A new
/// server is killed when this value is dropped.
#[derive(Debug)]
#[must_use = "a server of our own is killed when this is dropped"]
pub struct RedisServer {
    own: Option<Own>,
    url: String,
}

#[derive(Debug)]
struct Own {
    process: Child,
    _folder: TempDir,
}

impl RedisServer {
    /// Returns the server at `url`, or starts the `redis-server` on the `PATH`.
    ///
    /// # Errors
    ///
    /// Returns [`RedisServerError`] if the server cannot be started. A server at `url` is not contacted yet.
    pub async fn at_or_own(url: Option<String>) -> Result<Self, RedisServerError> {
        match url {
            Some(url) => Ok(Self { own: None, url }),
            None => Self::start().await,
        }
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether this value started the server.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    async fn start() -> Result<Self, RedisServerError> {
        let program = std::env::var(VARIABLE).unwrap_or_else(|_| PROGRAM.to_owned());
        let cannot = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => RedisServerError::NotInstalled {
                program: program.clone(),
            },
            _ => RedisServerError::Start {
                program: program.clone(),
                source,
            },
        };
        let folder = tempfile::tempdir().map_err(cannot)?;
        let port = free_port().map_err(cannot)?;
        let process = Command::new(&program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no"])
            .arg("--dir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(cannot)?;
        let url = format!("redis://127.0.0.1:{port}");
        let mut own = Own {
            process,
            _folder: folder,
        };
        match own.answers(&url).await {
            true => Ok(Self {
                own: Some(own),
                url,
            }),
            false => Err(RedisServerError::Silent { program, url }),
        }
    }
}

impl Own {
    async fn answers(&mut self, url: &str) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && matches!(self.process.try_wait(), Ok(None)) {
            if ping(url).await.is_ok() {
                return true;
            }
            sleep(Duration::from_millis(10)).await;
        }
        false
    }
}

/// Opens a connection for data, separate from those of the locks. Its timeouts are long, for a busy machine.
///
/// # Errors
///
/// Returns the error of the client.
pub async fn connection(url: &str) -> RedisResult<MultiplexedConnection> {
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let client = Client::open(url)?;
    client
        .get_multiplexed_async_connection_with_config(&patient)
        .await
}

async fn ping(url: &str) -> RedisResult<()> {
    redis::cmd("PING")
        .query_async(&mut connection(url).await?)
        .await
}

/// Returns a port that was just free.
fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

impl Drop for Own {
    fn drop(&mut self) {
        // The server may already have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
