//! The server to connect to, the certificates, and the TCP, TLS or Unix socket.

use std::io;
#[cfg(feature = "credentials-provider")]
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "credentials-provider")]
use futures_util::Stream;
use futures_util::future::select_ok;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::SockRef;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError,
    RedisResult,
};
#[cfg(feature = "credentials-provider")]
use redis::{BasicAuth, StreamingCredentialsProvider};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::bounded_stream::{BoundedStream, Reading};
use super::caller_driven::Driver;
use super::client_name;
#[cfg(feature = "tls-rustls")]
use super::tls;
#[cfg(feature = "tls-rustls")]
use leasehold_core::backend::support::Certificates;
use leasehold_core::backend::support::runtime::{Runtime, timeout};

/// The largest reply on a lock's connection, in bytes. Valid replies are far smaller.
pub(crate) const LARGEST_REPLY: usize = 16 * 1024 * 1024;

/// The time for which a woken caller that does not poll may block others. The actual time is at most twice as long. A
/// busy runtime sometimes needs this time to poll a woken task.
const PATIENCE: Duration = Duration::from_millis(10);

/// An open connection. The connection ends when this value is dropped.
pub(crate) struct OpenConnection {
    pub(crate) connection: MultiplexedConnection,
    /// `None` if a task of the `redis` crate drives the connection.
    pub(crate) driver: Option<Driver>,
    pub(crate) reading: Reading,
}

impl OpenConnection {
    /// Connects to `target`, and accepts replies of at most `most` bytes.
    pub(crate) async fn by(
        target: &Target,
        config: AsyncConnectionConfig,
        within: Duration,
        most: usize,
    ) -> RedisResult<Self> {
        let opened = Self::unnamed(target, config, within, most).await?;
        if let Some(name) = &target.settings.client_name {
            Box::pin(client_name::set(opened.connection.clone(), name, within)).await;
        }
        Ok(opened)
    }

    async fn unnamed(
        target: &Target,
        config: AsyncConnectionConfig,
        within: Duration,
        most: usize,
    ) -> RedisResult<Self> {
        let (client, info) = (target.client(), target.info());
        let settings = info.tcp_settings();
        #[cfg(feature = "credentials-provider")]
        let config = match &target.settings.credentials {
            Some(credentials) => config.set_credentials_provider(credentials.clone()),
            None => config,
        };
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
            // The `redis` crate opens this connection, because it does not expose all certificates and settings of the
            // client.
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

    /// Connects over a stream to the server, with the settings of `client`.
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
        let greeted = greeted.await.map_err(|_elapsed| late())?;
        let (connection, exchange) = greeted.map_err(|error| match reading.refusal() {
            Some(refusal) if error.is_io_error() => refusal,
            _ => error,
        })?;
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
    let message = "not inside a tokio runtime; enter one first";
    RedisError::from((ErrorKind::Client, message))
}

/// Returns whether this module can apply all settings. The `redis` crate exposes a linger time only in its Debug text.
fn has_no_hidden_setting(settings: &TcpSettings) -> bool {
    let mut known = TcpSettings::default().set_nodelay(settings.nodelay());
    if let Some(keepalive) = settings.keepalive() {
        known = known.set_keepalive(keepalive.clone());
    }
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    if let Some(limit) = settings.user_timeout() {
        known = known.set_user_timeout(limit);
    }
    format!("{settings:?}") == format!("{known:?}")
}

/// Connects to the first of the host's addresses that responds.
async fn tcp(host: &str, port: u16, settings: &TcpSettings) -> io::Result<TcpStream> {
    let addresses = tokio::net::lookup_host((host, port)).await?;
    let all: Vec<_> = addresses
        .map(|address| Box::pin(TcpStream::connect(address)))
        .collect();
    if all.is_empty() {
        let message = format!("failed to lookup address information: {host} has no address");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
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

/// Converts a value into a [`Client`] of the `redis` crate, with which this crate opens connections.
///
/// This crate cannot use an open connection or a pool. The server notifies waiters by RESP3 pushes, and the client must
/// request pushes when it opens a connection. A pool gives its connections to other callers.
#[diagnostic::on_unimplemented(
    message = "locks cannot use a `{Self}`",
    note = "waiters are notified by RESP3 pushes, and a connection must request pushes when it is opened; pass the `redis::Client` that opened it, or connect by URL"
)]
pub trait IntoClient: sealed::Sealed {
    /// Returns the client.
    fn into_client(self) -> Client;
}

impl IntoClient for Client {
    fn into_client(self) -> Client {
        self
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for redis::Client {}
}

/// The settings that a builder has for the connections to all of its servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionSettings {
    pub(crate) tcp: Option<TcpSettings>,
    pub(crate) client_name: Option<Arc<str>>,
    /// A `Client` of the `redis` crate does not expose its certificates, so the crate must open the connections of such
    /// a client. On such connections this crate limits neither the size of a reply nor the input per poll.
    #[cfg(feature = "tls-rustls")]
    pub(crate) certificates: Arc<Certificates>,
    #[cfg(feature = "credentials-provider")]
    pub(crate) credentials: Option<Credentials>,
}

/// Credentials that change. A connection uses the newest credentials, and authenticates again when they change.
#[cfg(feature = "credentials-provider")]
#[derive(Clone)]
pub(crate) struct Credentials(pub(crate) Arc<dyn StreamingCredentialsProvider>);

#[cfg(feature = "credentials-provider")]
impl StreamingCredentialsProvider for Credentials {
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send + 'static>> {
        self.0.subscribe()
    }
}

#[cfg(feature = "credentials-provider")]
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

/// A server, and the settings of its connections.
#[derive(Clone)]
pub(crate) struct Target {
    client: Client,
    settings: ConnectionSettings,
}

impl From<Client> for Target {
    fn from(client: Client) -> Self {
        Self {
            client,
            settings: ConnectionSettings::default(),
        }
    }
}

impl Target {
    pub(crate) fn open(info: ConnectionInfo) -> RedisResult<Self> {
        Client::open(info).map(Self::from)
    }

    pub(crate) fn with_settings(self, settings: ConnectionSettings) -> Self {
        Self { settings, ..self }
    }

    /// Returns the same server, with only the credentials of its URL.
    #[cfg(feature = "credentials-provider")]
    pub(crate) fn without_provider(mut self) -> Self {
        self.settings.credentials = None;
        self
    }

    #[cfg(not(feature = "credentials-provider"))]
    pub(crate) const fn without_provider(self) -> Self {
        self
    }

    #[cfg(feature = "tls-rustls")]
    pub(crate) fn certificates(&self) -> &Certificates {
        &self.settings.certificates
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn info(&self) -> &ConnectionInfo {
        self.client.get_connection_info()
    }

    pub(crate) fn addr(&self) -> &ConnectionAddr {
        self.info().addr()
    }

    /// Returns another server, with the same settings.
    pub(crate) fn at(&self, host: &str, port: u16) -> RedisResult<Self> {
        let mut addr = self.addr().clone();
        match &mut addr {
            ConnectionAddr::TcpTls {
                host: h, port: p, ..
            } => (*h, *p) = (host.to_owned(), port),
            _ => addr = ConnectionAddr::Tcp(host.to_owned(), port),
        }
        let mut target = self.clone();
        target.client = Client::open(self.info().clone().set_addr(addr))?;
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use redis::io::tcp::socket2::TcpKeepalive;
    use tokio::net::TcpListener;

    use super::*;
    use crate::url;

    #[test]
    fn a_tcp_setting_that_this_module_cannot_apply_is_detected() {
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
    async fn a_connection_has_nodelay_and_the_given_tcp_settings() {
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

    #[test]
    fn the_target_of_another_server_keeps_tls_login_and_database() {
        for (url, is_tls) in [
            ("redis://u:p@a:1/3", false),
            #[cfg(feature = "tls-rustls")]
            ("rediss://u:p@a:1/3", true),
        ] {
            let target = Target::open(url::one(url).unwrap()).unwrap();
            let other = target.at("c", 5).unwrap();
            assert_eq!(other.addr().to_string(), "c:5");
            let tls = matches!(other.addr(), ConnectionAddr::TcpTls { .. });
            assert_eq!(tls, is_tls, "{url}");
            let settings = |target: &Target| {
                let redis = target.info().redis_settings().clone();
                let login = (
                    redis.username().map(str::to_owned),
                    redis.password().map(str::to_owned),
                );
                (login, redis.db())
            };
            assert_eq!(settings(&other), settings(&target));
        }
    }
}
