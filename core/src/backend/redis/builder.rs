//! Settings of a Redis backend, and connecting with them.

use std::sync::Arc;
use std::time::Duration;

use redis::{Client, ConnectionInfo, ProtocolVersion};

use super::Redis;
use super::client::ServerClient;
#[cfg(feature = "cluster")]
use super::cluster::Cluster;
use super::connection::push_handler;
#[cfg(feature = "tls-rustls")]
use super::connection::tls;
use super::connection::transport::Target;
use super::protocol::reply;
use super::scripts::LockScripts;
use super::timing::{FENCE_TTL, check_fence_ttl};
use super::topology::Topology;
#[cfg(feature = "simulation")]
use super::url;
use crate::backend::ConnectError;
#[cfg(feature = "tls-rustls")]
use crate::backend::certificates::Certificates;
use crate::backend::redis::client::connector::Connector;
use crate::backend::redis::client::server_locator::ServerLocator;
#[cfg(feature = "simulation")]
use crate::backend::redis::connection::simulated_transport::{Connecting, SimulatedTransport};
use crate::backend::redis::connection::wait_command_pool::ReplicaRequirement;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;
use crate::event_macro::event;

/// How to connect to a server. Made by [`Redis::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct RedisBuilder {
    pub(super) heal: bool,
    pub(super) synced: Option<ReplicaRequirement>,
    fence_ttl: Option<Duration>,
    #[cfg(feature = "tls-rustls")]
    certificates: Certificates,
}

impl RedisBuilder {
    /// Gives a lock key that is found without TTL the TTL that its finder asks for. Such a key was left by a
    /// program that died between two commands, and stays locked for ever. Off by default: another
    /// program may mean it.
    pub fn heal_keys_without_ttl(mut self, heal: bool) -> Self {
        self.heal = heal;
        self
    }

    /// Grants a lock only once so many replicas have acknowledged it within this time, and prolongs its lease only
    /// if they acknowledge that, too. None by default.
    ///
    /// A primary that dies takes with it what no replica has yet: the lock is granted a second time, beside a holder who
    /// knows nothing. With as many acknowledgements as there are replicas that can be promoted, it is not. With
    /// fewer, a replica without the lock may be the one that is promoted: ask for all of them, or fence.
    ///
    /// With too few acknowledgements the lock is given back, and the error says how many there were. Callers that wait
    /// try again, as after any failure. A guard whose renewals are not acknowledged is lost by its deadline.
    ///
    /// While too few replicas can be reached, whoever is first holds the lock for as long as they are waited for, and gives
    /// it back. The others find it busy meanwhile. So in such an outage most of those who want the same key have
    /// [`TimedOut`](crate::AcquireError::TimedOut), as they would if somebody held it for long, and only those who had their
    /// turn last are told how many replicas there were. The event `leasehold.attempt_failed` has it each time.
    ///
    /// The time counts against the manager's command timeout and against the TTL, so it should be far below both; a
    /// replica nearby acknowledges in less than a millisecond, and an acquire takes one more round trip. Each acquire
    /// that waits for replicas has a connection of its own.
    ///
    /// Replicas acknowledge what they have in memory. What a power failure of all of them leaves is a matter of their
    /// `appendfsync`.
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

    /// Sets how long the server keeps the last fencing token of a key after its last acquisition: two days if not set, ten
    /// minutes at least, and a year at most.
    ///
    /// Each key that was locked once takes about 225 bytes for that long. Where clients choose keys that are used once, such
    /// as idempotency keys, a shorter time saves memory. All managers of a server may have times of their own.
    ///
    /// It costs this: once a token is forgotten, the next one is taken from the server's clock alone. So it is larger than
    /// the forgotten one unless that clock was set back, or a failover led to a server whose clock is behind, by more than
    /// this time. Locks may have a TTL of half this time at most, because a token is to outlast its lease.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    /// use leasehold::backend::redis::Redis;
    ///
    /// let redis = Redis::builder().fence_ttl(Duration::from_secs(60 * 60));
    /// let locks = LockManager::new(redis.connect("redis://127.0.0.1").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn fence_ttl(mut self, fence_ttl: Duration) -> Self {
        self.fence_ttl = Some(fence_ttl);
        self
    }

    /// Trusts servers whose certificates these authorities have signed, and no others. As PEM, with any number of
    /// certificates. For URLs that begin with `rediss`: of one server, of Sentinels and the servers that they name, and
    /// of a Cluster.
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
        self.certificates.authorities = Some(pem.into());
        self
    }

    /// Shows servers that ask for it this certificate, followed by those between it and its authority, all as PEM.
    /// The private key is PEM without a password. For URLs that begin with `rediss`.
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        self.certificates.client = Some((certificate.into(), key.into()));
        self
    }

    /// Connects to the server at `url`; see [`Redis::connect`].
    ///
    /// # Errors
    ///
    /// As [`Redis::connect`], and [`ConnectError::Certificates`] if there are some that cannot be used, or `url` does not
    /// ask for TLS, [`ConnectError::Option`] for an option that cannot work.
    pub async fn connect(self, url: &str) -> Result<Redis, ConnectError> {
        #[cfg(feature = "tls-rustls")]
        let certificates = tls::read(&self.certificates, url)?;
        let prepared = |info| {
            let target = opened(info)?;
            #[cfg(feature = "tls-rustls")]
            let target = target.with_certificates(&certificates);
            Ok::<_, ConnectError>(target)
        };
        let scripts = self.scripts()?;
        if is_cluster(url) {
            #[cfg(feature = "cluster")]
            {
                let waiters = WaiterRegistry::sharded();
                let cluster = Cluster::at(url, waiters.clone(), scripts.load(), prepared)?;
                return self
                    .connect_to(Topology::Cluster(Arc::new(cluster)), waiters, scripts)
                    .await;
            }
            #[cfg(not(feature = "cluster"))]
            {
                let told = "Cluster is not built in; enable the feature `cluster`";
                return Err(ConnectError::url(told));
            }
        }
        self.connect_at(ServerLocator::at(url, prepared)?, scripts)
            .await
    }

    /// Connects as `client` would: with a TLS configuration or credentials of your own, in place of this builder's
    /// certificates. Its protocol is set to RESP3, and `TCP_NODELAY` is turned on.
    ///
    /// Tied to version 1 of the `redis` crate, which opens the connection by itself if the client has certificates of its
    /// own, or a linger time: the size of replies is not bounded there ([`ReplyTooLarge`](super::ReplyTooLarge)), nor how much
    /// is read in one go. [`authorities`](Self::authorities) and [`client_certificate`](Self::client_certificate) have no such gap.
    ///
    /// # Errors
    ///
    /// As [`Redis::connect`].
    pub async fn connect_client(self, client: Client) -> Result<Redis, ConnectError> {
        let target = opened(client.get_connection_info().clone())?;
        let scripts = self.scripts()?;
        self.connect_at(target.into(), scripts).await
    }

    /// Connects over a network that is not the operating system's, without [`synced`](Self::synced).
    #[cfg(feature = "simulation")]
    #[doc(hidden)]
    pub async fn connect_over(
        mut self,
        connector: impl Fn() -> Connecting + Send + Sync + 'static,
    ) -> Result<Redis, ConnectError> {
        self.synced = None;
        let simulated = url::one("redis://simulated")?;
        let client = Client::open(prepared(simulated)).map_err(ConnectError::url)?;
        let transport = SimulatedTransport::new(client, connector);
        let scripts = self.scripts()?;
        self.connect_at(ServerLocator::Simulated(transport), scripts)
            .await
    }

    /// Returns the longest TTL that a lock may have.
    pub(super) fn max_ttl(&self) -> Duration {
        self.fence_ttl.unwrap_or(FENCE_TTL) / 2
    }

    /// Returns the scripts with this builder's settings in them.
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

/// Whether `url` leads to a Redis Cluster.
pub(crate) fn is_cluster(url: &str) -> bool {
    let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
    scheme.ends_with("+cluster")
}

/// The server, with what our connections need.
pub(crate) fn opened(info: ConnectionInfo) -> Result<Target, ConnectError> {
    Target::open(prepared(info)).map_err(ConnectError::url)
}

/// Wake-ups come as pushes, on the connection that carries the commands.
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
    /// Connects to the server at `url`: `redis://user:password@host:port/database`, or
    /// `unix:///path?db=0`. `valkey` works in place of `redis`. `rediss` and `valkeys` speak TLS, with the feature
    /// `tls-rustls` and the authorities that the system trusts (`SSL_CERT_FILE` names others); for certificates
    /// of your own see [`RedisBuilder`]. A server's certificate has to be for the name, or address, by which it is
    /// reached: that in the URL, and with Sentinels and in a Cluster the one that these tell.
    ///
    /// `redis+sentinel://user:password@host:26379,host:26379/master-name/database`, with the feature `sentinel`,
    /// connects to the primary that these Sentinels name, and to the next one after a failover. The user is the
    /// servers'; `?sentinel_username=…&sentinel_password=…` is for the Sentinels. `rediss+sentinel` speaks TLS to
    /// all. Name all Sentinels: more than half of those in the URL have to name the same primary, so that one alone that lies
    /// leads nobody to a server of its own, with the servers' password. Where so many do not answer, those that do have to
    /// be unanimous, be it one.
    ///
    /// `redis+cluster://user:password@host,host`, with the feature `cluster`, connects to the Redis Cluster, version 7 or
    /// later, that these hosts are members of. `rediss+cluster` speaks TLS.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says whether the URL, the way to the server, the credentials or the server's
    /// version is wrong, and what to do. A server that evicts keys, or a user who may not use channels, is
    /// a warning in the trace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
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
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::builder().connect(url).await
    }

    /// Connects with other options.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    async fn check(&mut self) -> Result<(), ConnectError> {
        let infos = self.servers.infos().await?;
        let least = self.servers.least_version();
        infos
            .iter()
            .try_for_each(|(address, info)| judge(address, info, least))?;
        // The URL may not say so.
        let is_of_a_cluster = |info: &str| reply::info_field(info, "cluster_enabled") == Some("1");
        self.names_all |= infos.iter().any(|(_, info)| is_of_a_cluster(info));
        if let Err(error) = self.servers.publish(&self.waiters).await {
            push_handler::warn_of_no_wake_ups(&error);
        }
        Ok(())
    }
}

/// Fails if the server cannot keep locks, and warns of what it cannot do well.
pub(crate) fn judge(address: &str, info: &str, least: (u32, u32)) -> Result<(), ConnectError> {
    let version = reply::info_field(info, "redis_version").unwrap_or_default();
    check_version(address, version, least)?;
    if let Some(policy) = reply::info_field(info, "maxmemory_policy")
        && policy != "noeviction"
    {
        warn_of_evicting_server(policy);
    }
    Ok(())
}

fn warn_of_evicting_server(policy: &str) {
    event!(
        warn,
        "leasehold.evicting_server",
        { policy = policy },
        "the server may evict locks when its memory is full; set maxmemory-policy to noeviction"
    );
}

/// Fails if the server is too old.
pub(crate) fn check_version(
    address: &str,
    version: &str,
    least: (u32, u32),
) -> Result<(), ConnectError> {
    if is_recent(version, least) {
        return Ok(());
    }
    Err(ConnectError::TooOld {
        address: address.to_owned(),
        version: version.to_owned(),
        least: format!("{}.{}", least.0, least.1),
    })
}

/// Valkey says which Redis it is compatible with in the same field.
fn is_recent(version: &str, least: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        for (version, recent) in [
            ("7.0.15", true),
            ("6.2.0", true),
            ("10.0", true),
            ("6.0.16", false),
            ("5.0.14", false),
            ("", false),
        ] {
            assert_eq!(is_recent(version, (6, 2)), recent, "{version}");
        }
    }
}
