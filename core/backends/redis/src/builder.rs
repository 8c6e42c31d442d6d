//! The builder of a Redis backend, which connects with its settings.

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "credentials-provider")]
use redis::StreamingCredentialsProvider;
use redis::io::tcp::TcpSettings;
use redis::{ConnectionInfo, ProtocolVersion};

use super::Redis;
use super::client::ServerClient;
use super::cluster::Cluster;
use super::connection::client_name;
use super::connection::push_messages;
#[cfg(feature = "tls-rustls")]
use super::connection::tls;
#[cfg(feature = "credentials-provider")]
use super::connection::transport::Credentials;
use super::connection::transport::{ConnectionSettings, IntoClient, Target};
use super::protocol::reply;
use super::scripts::LockScripts;
use super::time_limits::{FENCE_TTL, check_fence_ttl};
use super::topology::{Topology, check_server};
#[cfg(feature = "simulation")]
use super::url;
use crate::client::connector::Connector;
use crate::client::server_locator::ServerLocator;
#[cfg(feature = "simulation")]
use crate::connection::simulated_transport::{Connecting, SimulatedTransport};
use crate::connection::wait_command_connections::ReplicaRequirement;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::Error;
use leasehold_core::backend::{Capabilities, ConnectError};

/// Configures the connection to a server. Created by [`Redis::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct RedisBuilder {
    pub(super) heal: bool,
    pub(super) synced: Option<ReplicaRequirement>,
    fence_ttl: Option<Duration>,
    pub(super) connections: ConnectionSettings,
}

impl RedisBuilder {
    /// Sets whether a lock key without a TTL gets the TTL of the next acquire. A program that was killed between two
    /// commands can leave such a key, which stays locked forever. This is off by default, because another program may
    /// have set the key without a TTL on purpose.
    pub fn heal_keys_without_ttl(mut self, heal: bool) -> Self {
        self.heal = heal;
        self
    }

    /// Requires that at least `replicas` replicas acknowledge each grant and each renewal within the time `within`. By
    /// default this crate requires no acknowledgement.
    ///
    /// If a primary fails, writes that no replica has received are lost. The new primary then grants the lock a second
    /// time, and does not notify the first holder. Require as many acknowledgements as there are replicas that can
    /// become the primary. With fewer acknowledgements, a replica without the lock may become the primary. Require all
    /// replicas, or use a fence.
    ///
    /// With too few acknowledgements the client releases the lock, and returns an error with the number of
    /// acknowledgements. Acquires with a wait retry, as after any failure. If replicas do not acknowledge the renewals
    /// of a lock, the lock is lost at the guard's deadline or before.
    ///
    /// While too few replicas are reachable, the first attempt holds the lock, waits for the replicas, and then
    /// releases the lock. During this time other attempts return busy. So in such an outage most acquires of one key
    /// return [`TimedOut`](leasehold_core::Error::TimedOut), as if another holder had the lock. Only the errors of the last
    /// attempts contain the number of replicas. The event `leasehold.attempt_failed` always contains this number.
    ///
    /// `within` counts against the manager's command timeout and against the TTL, so it should be far shorter than
    /// both. A nearby replica acknowledges in less than a millisecond, and an acquire takes one more round trip. Each
    /// acquire that waits for replicas uses a separate connection.
    ///
    /// Replicas acknowledge writes that they have in memory. Their `appendfsync` decides which writes survive a power
    /// failure of all replicas.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    /// use leasehold::backend::redis::Redis;
    ///
    /// let redis = Redis::builder().synced(1, Duration::from_millis(100));
    /// let locks = LockManager::new(redis.connect("redis://127.0.0.1").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn synced(mut self, replicas: u32, within: Duration) -> Self {
        self.synced = (replicas > 0).then_some(ReplicaRequirement { replicas, within });
        self
    }

    /// Sets how long the server keeps the last fencing token of a key after its last acquisition. The default is two
    /// days, the minimum ten minutes, and the maximum a year.
    ///
    /// Each key that was locked once uses about 250 bytes until the server deletes its token. If clients choose keys
    /// that are used once, such as idempotency keys, a shorter time saves memory. The managers of one server may use
    /// different times.
    ///
    /// A shorter time has a cost. Once the server has deleted a token, the next token depends only on the server's
    /// clock. That token may be smaller than the last token if the server's clock was set back by more than this time.
    /// A failover to a server with a clock that is slow by more than this time has the same effect. The TTL of a lock
    /// may be at most half this time, because a token must outlast its lease.
    pub fn fence_ttl(mut self, fence_ttl: Duration) -> Self {
        self.fence_ttl = Some(fence_ttl);
        self
    }

    /// Trusts only servers with a certificate that one of these authorities has signed. The format is PEM, with any
    /// number of certificates. This applies to URLs that begin with `rediss`: of one server, of Sentinels and their
    /// servers, and of a Cluster.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::fs::read_to_string;
    ///
    /// use leasehold::LockManager;
    /// use leasehold::backend::redis::Redis;
    ///
    /// let redis = Redis::builder()
    ///     .authorities(read_to_string("authorities.pem")?)
    ///     .client_certificate(read_to_string("client.pem")?, read_to_string("client.key")?)
    ///     .connect("rediss+cluster://a,b,c")
    ///     .await?;
    /// let locks = LockManager::new(redis);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.connections.certificates).authorities = Some(pem.into());
        self
    }

    /// Presents this certificate, followed by its intermediates, to servers that request one. The format of the
    /// certificates is PEM. The private key is PEM without a password. This applies to URLs that begin with `rediss`.
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        let own = Some((certificate.into(), key.into()));
        Arc::make_mut(&mut self.connections.certificates).client = own;
        self
    }

    /// Sets the TCP settings, such as keepalive. They apply to all connections: to one server, to Sentinels and their
    /// servers, and to the members of a Cluster. `TCP_NODELAY` is always on. This method depends on version 1 of the
    /// `redis` crate.
    ///
    /// If `settings` contain a linger time, that crate opens the connections itself; see
    /// [`connect_client`](Self::connect_client).
    pub fn tcp_settings(mut self, settings: TcpSettings) -> Self {
        self.connections.tcp = Some(settings);
        self
    }

    /// Authenticates each connection with the newest credentials of `provider`. Authenticates again whenever the
    /// credentials change, as rotating passwords and cloud tokens do. The credentials of `provider` replace the user
    /// and the password of the URL. They do not replace the credentials for Sentinels (`sentinel_username`). This
    /// method depends on version 1 of the `redis` crate, which has a provider for Entra ID.
    ///
    /// If the provider's stream yields an error or ends before the first credentials, the connection fails with this
    /// error.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::pin::Pin;
    ///
    /// use futures_util::stream::{self, Stream};
    /// use leasehold::LockManager;
    /// use leasehold::backend::redis::Redis;
    /// use redis::{BasicAuth, RedisResult, StreamingCredentialsProvider};
    /// use tokio::sync::watch;
    ///
    /// /// The password of the user `app`, which another task replaces.
    /// struct Rotating(watch::Receiver<String>);
    ///
    /// impl StreamingCredentialsProvider for Rotating {
    ///     fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send>> {
    ///         let mut passwords = self.0.clone();
    ///         passwords.mark_changed(); // so that the first password is a change, too
    ///         Box::pin(stream::unfold(passwords, |mut passwords| async move {
    ///             passwords.changed().await.ok()?;
    ///             let password = passwords.borrow_and_update().clone();
    ///             Some((Ok(BasicAuth::new("app".to_owned(), password)), passwords))
    ///         }))
    ///     }
    /// }
    ///
    /// let (_replace, password) = watch::channel("first".to_owned());
    /// let redis = Redis::builder().credentials_provider(Rotating(password));
    /// let locks = LockManager::new(redis.connect("redis+cluster://a,b,c").await?);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "credentials-provider")]
    #[cfg_attr(docsrs, doc(cfg(feature = "credentials-provider")))]
    pub fn credentials_provider(
        mut self,
        provider: impl StreamingCredentialsProvider + 'static,
    ) -> Self {
        self.connections.credentials = Some(Credentials(Arc::new(provider)));
        self
    }

    /// Connects to the server at `url`; see [`Redis::connect`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Redis::connect`]. Also returns [`ConnectError::Certificates`] if the certificates are
    /// invalid or `url` does not use TLS, and [`ConnectError::Option`] for an invalid option.
    pub async fn connect(self, url: &str) -> Result<Redis, Error> {
        Ok(self.connect_url(url).await?)
    }

    async fn connect_url(self, url: &str) -> Result<Redis, ConnectError> {
        let scripts = self.scripts()?;
        client_name::check(self.connections.client_name.as_ref())?;
        if is_cluster(url) {
            #[cfg(feature = "tls-rustls")]
            tls::check(&self.connections.certificates, url)?;
            let connections = self.connections.clone();
            let prepared = |info| target(info, &connections);
            let waiters = WaiterRegistry::sharded();
            let cluster = Cluster::at(url, waiters.clone(), scripts.load(), prepared)?;
            let topology = Topology::Cluster(Arc::new(cluster));
            return self.connect_to(topology, waiters, scripts).await;
        }
        let server = self.locate(url)?;
        self.connect_at(server, scripts).await
    }

    /// Connects with the settings of `client`, such as your own TLS configuration or credentials, instead of this
    /// builder's certificates. This method sets the protocol to RESP3, and turns `TCP_NODELAY` on.
    ///
    /// This method depends on version 1 of the `redis` crate. That crate opens the connection itself if the client has
    /// its own certificates, or a linger time. On such connections this crate limits neither the size of replies
    /// ([`ReplyTooLarge`](super::ReplyTooLarge)) nor the amount of input per poll. Both limits apply with
    /// [`authorities`](Self::authorities) and [`client_certificate`](Self::client_certificate).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Redis::connect`].
    pub async fn connect_client(self, client: impl IntoClient) -> Result<Redis, Error> {
        let client = client.into_client();
        let target = opened(client.get_connection_info().clone())?;
        let scripts = self.scripts()?;
        Ok(self.connect_at(target.into(), scripts).await?)
    }

    /// Connects over a simulated network, without [`synced`](Self::synced).
    #[cfg(feature = "simulation")]
    #[doc(hidden)]
    pub async fn connect_over(
        mut self,
        connector: impl Fn() -> Connecting + Send + Sync + 'static,
    ) -> Result<Redis, ConnectError> {
        self.synced = None;
        let simulated = url::one("redis://simulated")?;
        let client = redis::Client::open(prepared(simulated)).map_err(ConnectError::url)?;
        let transport = SimulatedTransport::new(client, connector);
        let scripts = self.scripts()?;
        let server = ServerLocator::Simulated(transport);
        self.connect_at(server, scripts).await
    }

    /// Returns the server at `url`, which is not a Cluster, with this builder's connection settings.
    pub(crate) fn locate(&self, url: &str) -> Result<ServerLocator, ConnectError> {
        #[cfg(feature = "tls-rustls")]
        tls::check(&self.connections.certificates, url)?;
        ServerLocator::at(url, |info| target(info, &self.connections))
    }

    /// Returns the features of a backend with this builder's settings.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let most_ttl = self.fence_ttl.unwrap_or(FENCE_TTL) / 2;
        Capabilities::all(Duration::from_millis(50)).with_most_ttl(most_ttl)
    }

    /// Returns the scripts with this builder's settings.
    fn scripts(&self) -> Result<Arc<LockScripts>, ConnectError> {
        let fence_ttl = self.fence_ttl.unwrap_or(FENCE_TTL);
        check_fence_ttl(fence_ttl, Duration::ZERO)?;
        Ok(Arc::new(LockScripts::new(fence_ttl)))
    }

    async fn connect_at(
        self,
        address: ServerLocator,
        scripts: Arc<LockScripts>,
    ) -> Result<Redis, ConnectError> {
        let waiters = WaiterRegistry::new();
        let node = ServerClient::new(Connector::new(address, waiters.clone(), scripts.load()));
        self.connect_to(Topology::One(Arc::new(node)), waiters, scripts)
            .await
    }

    async fn connect_to(
        self,
        servers: Topology,
        waiters: WaiterRegistry,
        scripts: Arc<LockScripts>,
    ) -> Result<Redis, ConnectError> {
        let mut redis = Redis::new(servers, waiters, scripts, &self);
        redis.check().await?;
        Ok(redis)
    }
}

/// Returns whether `url` is the URL of a Redis Cluster.
pub(crate) fn is_cluster(url: &str) -> bool {
    let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
    scheme.ends_with("+cluster")
}

/// Opens a client of the server with the settings that our connections need.
pub(crate) fn opened(info: ConnectionInfo) -> Result<Target, ConnectError> {
    Target::open(prepared(info)).map_err(ConnectError::url)
}

/// Returns the server with the settings of a builder.
pub(crate) fn target(
    info: ConnectionInfo,
    connections: &ConnectionSettings,
) -> Result<Target, ConnectError> {
    let info = match &connections.tcp {
        Some(tcp) => info.set_tcp_settings(tcp.clone()),
        None => info,
    };
    Ok(opened(info)?.with_settings(connections.clone()))
}

/// Returns the settings that our connections need. With RESP3, notifications arrive as pushes on the connection that
/// carries the commands.
pub(crate) fn prepared(info: ConnectionInfo) -> ConnectionInfo {
    let settings = info.redis_settings().clone();
    let settings = settings.set_protocol(ProtocolVersion::RESP3);
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let info = info.set_redis_settings(settings).set_tcp_settings(tcp);
    #[cfg(feature = "tls-rustls")]
    tls::choose_provider(info.addr());
    info
}

impl Redis {
    /// Connects to the server at `url`: `redis://user:password@host:port/database`, or `unix:///path?db=0`. `valkey` is
    /// an alias of `redis`.
    ///
    /// `rediss` and `valkeys` use TLS, with the feature `tls-rustls` and the authorities that the system trusts
    /// (`SSL_CERT_FILE` overrides them). For your own certificates see [`RedisBuilder`]. A server's certificate must
    /// match the name or address to which the client connects. This is the name in the URL, or the name that Sentinels
    /// or Cluster members report.
    ///
    /// `redis+sentinel://user:password@host:26379,host:26379/master-name/database` connects to the primary that these
    /// Sentinels report, also after a failover. The user in the URL is the servers' user, and
    /// `?sentinel_username=…&sentinel_password=…` is for the Sentinels. `rediss+sentinel` uses TLS for all.
    ///
    /// List all Sentinels. More than half of the Sentinels in the URL must name the same primary. So a single malicious
    /// Sentinel cannot make clients send the servers' password to another server. If too many Sentinels do not respond,
    /// all Sentinels that respond must name the same primary, even if only one responds.
    ///
    /// `redis+cluster://user:password@host,host` connects to the Redis Cluster, version 7 or later, of these members.
    /// `rediss+cluster` uses TLS.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`], which identifies the cause (the URL, the network, the credentials or the server's
    /// version) and the remedy. If the server evicts keys, or the user does not have access to channels, `connect`
    /// emits a warning event.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections that it opened.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::backend::redis::Redis;
    ///
    /// let locks = LockManager::new(Redis::connect("redis://127.0.0.1").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::builder().connect(url).await
    }

    /// Returns a builder for setting options.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    async fn check(&mut self) -> Result<(), ConnectError> {
        let infos = self.servers.infos().await?;
        let least = self.servers.least_version();
        infos
            .iter()
            .try_for_each(|(address, info)| check_server(address, info, least))?;
        // The server may be part of a Cluster even if the URL names a single server.
        let is_of_a_cluster = |info: &str| reply::info_field(info, "cluster_enabled") == Some("1");
        self.names_all |= infos.iter().any(|(_, info)| is_of_a_cluster(info));
        if let Err(error) = self.servers.publish(&self.waiters).await {
            push_messages::warn_of_no_wake_ups(&error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redis::io::tcp::socket2::TcpKeepalive;

    use super::*;

    #[test]
    fn the_builder_applies_tcp_settings_and_always_sets_nodelay() {
        let settings = TcpSettings::default()
            .set_nodelay(false)
            .set_keepalive(TcpKeepalive::new());
        let builder = Redis::builder().tcp_settings(settings);
        let Ok(ServerLocator::Fixed(target)) = builder.locate("redis://a") else {
            panic!("a URL of one server");
        };
        let tcp = target.info().tcp_settings();
        assert!(tcp.keepalive().is_some() && tcp.nodelay());
    }
}
