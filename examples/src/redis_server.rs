use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

const PROGRAM: &str = "redis-server";
/// Names another program in place of the one on the `PATH`.
const VARIABLE: &str = "LEASEHOLD_REDIS_SERVER";
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no Redis.
#[derive(Debug, thiserror::Error)]
pub enum RedisServerError {
    /// It is not installed.
    #[error(
        "there is no `{program}`: install it (Debian: apt-get install redis-server), name its program in \
         LEASEHOLD_REDIS_SERVER, or name a server of yours with --url redis://HOST"
    )]
    NotInstalled {
        /// What was looked for.
        program: String,
    },
    /// It cannot be started.
    #[error("`{program}` cannot be started")]
    Start {
        /// What was started.
        program: String,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// It ended, or does not answer.
    #[error("`{program}` was started and does not answer at {url}")]
    Silent {
        /// What was started.
        program: String,
        /// Where it should be.
        url: String,
    },
}

/// The Redis of an example: one that its reader has named, or one of our own, on a free port and without a disk, that
/// ends when this is dropped.
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
    /// The server at `url`, or the `redis-server` on the `PATH`, started.
    ///
    /// # Errors
    ///
    /// [`RedisServerError`] says what to do. A server that was named is not asked for anything yet.
    pub async fn at_or_own(url: Option<String>) -> Result<Self, RedisServerError> {
        match url {
            Some(url) => Ok(Self { own: None, url }),
            None => Self::start().await,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether it was started for this.
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

/// A connection for data, beside those of the locks. It waits for a busy machine.
///
/// # Errors
///
/// What the client says.
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

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

impl Drop for Own {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
