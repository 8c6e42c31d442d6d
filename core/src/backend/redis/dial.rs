//! Opening a connection to a server.

use std::io;
use std::time::Duration;

use futures_util::future::select_ok;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, RedisError, RedisResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::driver::Driver;
use crate::runtime::{Runtime, timeout};

/// How long a caller that was woken may keep others waiting, or twice as long. A busy runtime takes that now and then.
const PATIENCE: Duration = Duration::from_millis(10);

/// A connection that was opened.
pub(super) struct Opened {
    pub(super) connection: MultiplexedConnection,
    /// None where the `redis` crate has a task of its own carry it.
    pub(super) driver: Option<Driver>,
}

impl Opened {
    /// Connects as `client` would.
    pub(super) async fn by(
        client: &Client,
        config: AsyncConnectionConfig,
        within: Duration,
    ) -> RedisResult<Self> {
        let info = client.get_connection_info();
        let settings = info.tcp_settings();
        match info.addr() {
            ConnectionAddr::Tcp(host, port) if is_ours(settings) => {
                let dialled = tcp(host, *port);
                Self::over(dialled, client, config, within).await
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let dialled = UnixStream::connect(path);
                Self::over(dialled, client, config, within).await
            }
            // It alone speaks TLS, and knows of settings that it does not tell.
            _ => {
                let config = config.set_connection_timeout(Some(within));
                let connection = client.get_multiplexed_async_connection_with_config(&config);
                Ok(Self {
                    connection: connection.await?,
                    driver: None,
                })
            }
        }
    }

    /// Connects over a way to the server, with the settings of `client`.
    pub(super) async fn over<S>(
        dialled: impl Future<Output = io::Result<S>>,
        client: &Client,
        config: AsyncConnectionConfig,
        within: Duration,
    ) -> RedisResult<Self>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let settings = client.get_connection_info().redis_settings();
        let greeted = async {
            MultiplexedConnection::new_with_config(settings, dialled.await?, config).await
        };
        let late = || RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        let greeted = timeout(within, greeted).ok_or_else(outside)?;
        let (connection, exchange) = greeted.await.map_err(|_elapsed| late())??;
        let runtime = Runtime::current().ok_or_else(outside)?;
        Ok(Self {
            connection,
            driver: Some(Driver::start(&runtime, PATIENCE, exchange)),
        })
    }
}

fn outside() -> RedisError {
    let told = "a connection can only be made inside a tokio runtime; enter one first";
    RedisError::from((ErrorKind::Client, told))
}

/// Whether they are the settings that all our connections have. A user's client may have others, and some of them are
/// told in no other way.
fn is_ours(settings: &TcpSettings) -> bool {
    let ours = TcpSettings::default().set_nodelay(true);
    let is_kept_alive = settings.keepalive().is_some();
    !is_kept_alive && format!("{settings:?}") == format!("{ours:?}")
}

/// Whichever of the host's addresses answers first.
async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses = tokio::net::lookup_host((host, port)).await?;
    let all: Vec<_> = addresses
        .map(|address| Box::pin(TcpStream::connect(address)))
        .collect();
    if all.is_empty() {
        let told = format!("the name {host} has no address");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
    }
    let (stream, _others) = select_ok(all).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use redis::io::tcp::socket2::TcpKeepalive;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn what_a_client_of_the_users_own_has_set_is_left_to_the_crate() {
        let ours = TcpSettings::default().set_nodelay(true);
        assert!(is_ours(&ours));
        let theirs = ours.clone().set_keepalive(TcpKeepalive::new());
        assert!(!is_ours(&theirs));
        let theirs = ours.clone().set_linger_time(Duration::ZERO);
        assert!(!is_ours(&theirs));
        #[cfg(target_os = "linux")]
        assert!(!is_ours(&ours.set_user_timeout(Duration::from_secs(9))));
    }

    #[tokio::test]
    async fn requests_do_not_wait_for_acknowledgements_of_others() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stream, _accepted) = tokio::join!(tcp("127.0.0.1", port), listener.accept());
        assert!(stream.unwrap().nodelay().unwrap());
    }
}
