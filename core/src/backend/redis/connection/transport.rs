//! Opens the TCP, TLS or Unix socket to a server.

use std::io;
use std::time::Duration;

use futures_util::future::select_ok;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::SockRef;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, RedisError, RedisResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::bounded_stream::{BoundedStream, Reading};
use super::caller_driven::Driver;
use super::target::Target;
#[cfg(feature = "tls-rustls")]
use super::tls;
use crate::runtime::{Runtime, timeout};

/// The largest reply that a lock's connection takes, in bytes: far more than any that is wanted there has.
pub(crate) const LARGEST_REPLY: usize = 16 * 1024 * 1024;

/// How long a caller that was woken may keep others waiting, or twice as long. A busy runtime takes that now and then.
const PATIENCE: Duration = Duration::from_millis(10);

/// A connection that was opened. It ends with this.
pub(crate) struct OpenConnection {
    pub(crate) connection: MultiplexedConnection,
    /// None where the `redis` crate has a task of its own carry it.
    pub(crate) driver: Option<Driver>,
    pub(crate) reading: Reading,
}

impl OpenConnection {
    /// Connects to `target`, for replies of `most` bytes.
    pub(crate) async fn by(
        target: &Target,
        config: AsyncConnectionConfig,
        within: Duration,
        most: usize,
    ) -> RedisResult<Self> {
        let (client, info) = (target.client(), target.info());
        let settings = info.tcp_settings();
        match info.addr() {
            ConnectionAddr::Tcp(host, port) if has_no_hidden_setting(settings) => {
                let dialled = tcp(host, *port, settings);
                Box::pin(Self::over(dialled, client, config, within, most)).await
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let dialled = UnixStream::connect(path);
                Box::pin(Self::over(dialled, client, config, within, most)).await
            }
            #[cfg(feature = "tls-rustls")]
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            } if has_no_hidden_setting(settings) => {
                let dialled = Box::pin(async {
                    let stream = tcp(host, *port, settings).await?;
                    tls::over(stream, host, target.certificates()).await
                });
                Box::pin(Self::over(dialled, client, config, within, most)).await
            }
            // The crate has certificates and settings that it does not tell.
            _ => {
                let config = config.set_connection_timeout(Some(within));
                let connection = client.get_multiplexed_async_connection_with_config(&config);
                Ok(Self {
                    connection: connection.await?,
                    driver: None,
                    reading: Reading::default(),
                })
            }
        }
    }

    /// Connects over a way to the server, with the settings of `client`.
    pub(crate) async fn over<S>(
        dialled: impl Future<Output = io::Result<S>>,
        client: &Client,
        config: AsyncConnectionConfig,
        within: Duration,
        most: usize,
    ) -> RedisResult<Self>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let settings = client.get_connection_info().redis_settings();
        let reading = Reading::default();
        let greeted = reading.clone().in_each_poll_of(async {
            let stream = BoundedStream::new(dialled.await?, reading.clone(), most);
            MultiplexedConnection::new_with_config(settings, stream, config).await
        });
        let late = || RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        let greeted = timeout(within, greeted).ok_or_else(outside)?;
        let (connection, exchange) = greeted.await.map_err(|_elapsed| late())??;
        let runtime = Runtime::current().ok_or_else(outside)?;
        let exchange = reading.clone().in_each_poll_of(exchange);
        Ok(Self {
            connection,
            driver: Some(Driver::start(&runtime, PATIENCE, exchange)),
            reading,
        })
    }
}

fn outside() -> RedisError {
    let told = "a connection can only be made inside a tokio runtime; enter one first";
    RedisError::from((ErrorKind::Client, told))
}

/// Whether all of them can be applied here. The crate shows a linger time only in the Debug text.
fn has_no_hidden_setting(settings: &TcpSettings) -> bool {
    let mut told = TcpSettings::default().set_nodelay(settings.nodelay());
    if let Some(keepalive) = settings.keepalive() {
        told = told.set_keepalive(keepalive.clone());
    }
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    if let Some(limit) = settings.user_timeout() {
        told = told.set_user_timeout(limit);
    }
    format!("{settings:?}") == format!("{told:?}")
}

/// Whichever of the host's addresses answers first.
async fn tcp(host: &str, port: u16, settings: &TcpSettings) -> io::Result<TcpStream> {
    let addresses = tokio::net::lookup_host((host, port)).await?;
    let all: Vec<_> = addresses
        .map(|address| Box::pin(TcpStream::connect(address)))
        .collect();
    if all.is_empty() {
        let told = format!("failed to lookup address information: {host} has no address");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
    }
    let (stream, _others) = select_ok(all).await?;
    stream.set_nodelay(settings.nodelay())?;
    let socket = SockRef::from(&stream);
    if let Some(keepalive) = settings.keepalive() {
        socket.set_tcp_keepalive(keepalive)?;
    }
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    if let Some(limit) = settings.user_timeout() {
        socket.set_tcp_user_timeout(Some(limit))?;
    }
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use redis::io::tcp::socket2::TcpKeepalive;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_not_told_is_left_to_the_crate() {
        let ours = TcpSettings::default().set_nodelay(true);
        let theirs = ours.clone().set_keepalive(TcpKeepalive::new());
        assert!(has_no_hidden_setting(&ours) && has_no_hidden_setting(&theirs));
        #[cfg(target_os = "linux")]
        assert!(has_no_hidden_setting(
            &theirs.set_user_timeout(Duration::from_secs(9))
        ));
        assert!(!has_no_hidden_setting(
            &ours.set_linger_time(Duration::ZERO)
        ));
    }

    #[tokio::test]
    async fn requests_do_not_wait_for_acknowledgements_and_settings_are_applied() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let idle = Duration::from_secs(77);
        let settings = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(TcpKeepalive::new().with_time(idle));
        #[cfg(target_os = "linux")]
        let settings = settings.set_user_timeout(idle);
        let (stream, _accepted) =
            tokio::join!(tcp("127.0.0.1", port, &settings), listener.accept());
        let stream = stream.unwrap();
        assert!(stream.nodelay().unwrap());
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(idle));
    }
}
