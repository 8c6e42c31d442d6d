//! The builder of a Redlock backend, which connects to the nodes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "credentials-provider")]
use redis::StreamingCredentialsProvider;
use redis::io::tcp::TcpSettings;

use super::Redlock;
use super::majority_count::{majority, no_quorum};
use super::node_admission::{NotAdmitted, UnfitNode};
use super::pending_node_requests::NodeRequests;
use super::quorum_node::QuorumNode;
use super::settings::RedlockSettings;
use crate::builder::target;
#[cfg(feature = "tls-rustls")]
use crate::connection::tls;
#[cfg(feature = "credentials-provider")]
use crate::connection::transport::Credentials;
use crate::connection::transport::{ConnectionSettings, Target};
use crate::connection::{client_name, push_messages};
use crate::protocol::reply;
use crate::topology::{check_server, check_version};
use crate::url;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::Error;
use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::support::runtime::timeout;
use leasehold_core::backend::{Applied, BackendError, Capabilities, ConnectError};

/// The maximum number of nodes. More nodes only cost time.
const NODES_AT_MOST: usize = 15;

/// The oldest server that our scripts support.
const LEAST_VERSION: (u32, u32) = (6, 2);

/// The time limit for a node's reply to the first connect.
const MEETING: Duration = Duration::from_secs(5);

/// The additional time to wait for the other nodes after a majority has replied. Two of the nodes may be the same
/// server.
const LATE: Duration = Duration::from_millis(200);

/// Configures locks on several nodes. Created by [`Redlock::new`].
#[derive(Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct RedlockBuilder {
    urls: Vec<String>,
    settings: RedlockSettings,
    connections: ConnectionSettings,
}

impl RedlockBuilder {
    /// Sets the time after which a node without a reply counts as down. The default is 200 ms. Calls do not wait for
    /// such a node if a majority replies. The TTL of locks must be at least six times this time.
    pub fn node_timeout(mut self, limit: Duration) -> Self {
        self.settings.node_timeout = limit;
        self
    }

    /// Sets the longest TTL of a lock. The default is a minute. A restarted node does not vote for at least this time.
    /// So every lock that the node has forgotten has expired when the node votes again. All clients of the same nodes
    /// must use the same value.
    pub fn max_ttl(mut self, ttl: Duration) -> Self {
        self.settings.max_ttl = ttl;
        self
    }

    /// Sets the largest difference between the clocks of two nodes. The default is ten seconds. A restarted node does
    /// not vote for at least this time plus a second, so that its tokens are larger than all forgotten tokens.
    pub fn clock_difference(mut self, difference: Duration) -> Self {
        self.settings.clock_difference = difference;
        self
    }

    /// Sets how long nodes keep the last fencing token of a key after its last acquisition. The default is two days,
    /// and the maximum a year. The minimum is ten minutes, twice `max_ttl` or twice `clock_difference`, whichever is
    /// longest. See [`RedisBuilder::fence_ttl`](crate::RedisBuilder::fence_ttl).
    pub fn fence_ttl(mut self, fence_ttl: Duration) -> Self {
        self.settings.fence_ttl = fence_ttl;
        self
    }

    /// Declares that no node ever loses data that its replies have confirmed (`appendfsync always`, `noeviction`, and
    /// no replica that can replace the node). With this setting a restarted node votes immediately.
    ///
    /// If this is not true, two clients can hold one lock after a restart, and the nodes can generate a token twice.
    pub fn durable_nodes(mut self, durable: bool) -> Self {
        self.settings.durable = durable;
        self
    }

    /// Trusts only nodes with a certificate that one of these authorities has signed. The format is PEM, with any
    /// number of certificates. All URLs must begin with `rediss`.
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.connections.certificates).authorities = Some(pem.into());
        self
    }

    /// Presents this certificate, followed by its intermediates, to nodes that request one. The format of the
    /// certificates is PEM. The private key is PEM without a password. All URLs must begin with `rediss`.
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

    /// Sets the TCP settings of all connections: see
    /// [`RedisBuilder::tcp_settings`](crate::RedisBuilder::tcp_settings).
    pub fn tcp_settings(mut self, settings: TcpSettings) -> Self {
        self.connections.tcp = Some(settings);
        self
    }

    /// Authenticates each connection with the newest credentials of `provider`: see
    /// [`RedisBuilder::credentials_provider`](crate::RedisBuilder::credentials_provider). All nodes must
    /// know this user.
    #[cfg(feature = "credentials-provider")]
    #[cfg_attr(docsrs, doc(cfg(feature = "credentials-provider")))]
    pub fn credentials_provider(
        mut self,
        provider: impl StreamingCredentialsProvider + 'static,
    ) -> Self {
        self.connections.credentials = Some(Credentials(Arc::new(provider)));
        self
    }

    /// Names every connection on the nodes: see
    /// [`RedisBuilder::client_name`](crate::RedisBuilder::client_name).
    pub fn client_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.connections.client_name = Some(name.into());
        self
    }

    /// Returns the node of a URL, with the settings that our connections need.
    fn target(&self, url: &str) -> Result<Target, ConnectError> {
        #[cfg(feature = "tls-rustls")]
        tls::check(&self.connections.certificates, url)?;
        target(url::one(url)?, &self.connections)
    }

    /// Connects to the nodes. Waits for a majority of the nodes, and 200 ms longer for the other nodes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`] with one of these:
    ///
    /// - [`ConnectError::NoQuorum`]: the client can reach fewer nodes than a majority.
    /// - [`ConnectError::NotIndependent`]: two names lead to one server.
    /// - [`ConnectError::Server`]: a server is a replica or a member of a Cluster.
    /// - [`ConnectError::TooOld`]: a server is too old.
    /// - [`ConnectError::Url`]: a URL is invalid, or names a node twice.
    /// - [`ConnectError::Option`]: an option is invalid.
    /// - [`ConnectError::Certificates`]: the certificates are invalid.
    ///
    /// A node that does not vote yet, because it was restarted recently, counts as reached. If `connect` does not wait
    /// for a node, `connect` reports the node's problems as warning events, and the node does not vote.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections that it opened.
    pub async fn connect(self) -> Result<Redlock, Error> {
        Ok(self.connect_nodes().await?)
    }

    /// Returns the features of a backend with this builder's settings.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.settings.capabilities()
    }

    async fn connect_nodes(self) -> Result<Redlock, ConnectError> {
        self.settings.validate()?;
        client_name::check(self.connections.client_name.as_ref())?;
        let waiters = WaiterRegistry::new();
        let targets = self.urls.iter().map(|url| self.target(url));
        let targets: Vec<_> = targets.collect::<Result<_, _>>()?;
        let nodes = targets.len();
        if nodes == 0 || nodes > NODES_AT_MOST {
            return Err(ConnectError::url(format!(
                "{nodes} nodes were given; give between 1 and {NODES_AT_MOST}, ideally 5"
            )));
        }
        let members = QuorumNode::all(targets, &waiters, &self.settings);
        for member in &members {
            if let Some(twin) = members[..member.place]
                .iter()
                .find(|it| it.address() == member.address())
            {
                return Err(ConnectError::url(format!(
                    "the node {} is given twice, and would have two votes; use independent servers",
                    twin.address()
                )));
            }
        }
        let redlock = Redlock::of(members, waiters, self.settings);
        redlock.meet().await?;
        Ok(redlock)
    }
}

impl Redlock {
    /// Returns a builder for locks on the nodes at `urls`. The URLs have the format of
    /// [`Redis::connect`](crate::Redis::connect).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::backend::redlock::Redlock;
    ///
    /// let nodes = ["redis://a", "redis://b", "redis://c", "redis://d", "redis://e"];
    /// let locks = LockManager::new(Redlock::new(nodes).connect().await?);
    /// # Ok(())
    /// # }
    /// ```
    #[allow(
        clippy::new_ret_no_self,
        reason = "a builder: it is not usable before it connects"
    )]
    pub fn new<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> RedlockBuilder {
        RedlockBuilder {
            urls: urls.into_iter().map(Into::into).collect(),
            settings: RedlockSettings::default(),
            connections: ConnectionSettings::default(),
        }
    }

    /// Waits until the client has reached a majority, and a little longer for the other nodes.
    async fn meet(&self) -> Result<(), ConnectError> {
        let nodes = self.members.len();
        let needed = majority(nodes);
        let mut reached = 0;
        let mut failures = Vec::new();
        let mut asked = NodeRequests::new(self.members.iter().map(|member| {
            let (member, channel) = (Arc::clone(member), self.waiters.channel());
            async move { (member.place, member.meet(&channel).await) }
        }));
        let mut end = None;
        loop {
            let met = match end {
                None => asked.next().await,
                Some(end) => tokio::select! {
                    met = asked.next() => met,
                    () = clock::sleep_until(end) => None,
                },
            };
            match met {
                None => break,
                Some((_, Ok(()))) => reached += 1,
                Some((place, Err(UnusableNode::Down(error)))) => failures.push((place, error)),
                Some((_, Err(UnusableNode::Wrong(error)))) => return Err(error),
            }
            if reached >= needed && end.is_none() {
                end = Some(LeaseInstant::now().after(LATE));
            }
        }
        if reached >= needed {
            return Ok(());
        }
        let source: BackendError = no_quorum(&self.members, reached, failures);
        Err(ConnectError::NoQuorum {
            reached,
            needed,
            nodes,
            // The client has not requested a lock yet.
            source: source.with_applied(Applied::No),
        })
    }
}

/// The reason why a node is not usable.
enum UnusableNode {
    /// The other nodes may be enough.
    Down(BackendError),
    /// The client must not acquire locks while this node is in the list.
    Wrong(ConnectError),
}

impl QuorumNode {
    async fn check(&self, channel: &str) -> Result<(), UnusableNode> {
        let info = self.node.call(&redis::cmd("INFO")).await;
        let info: String = info.and_then(reply::read).map_err(UnusableNode::Down)?;
        check_server(self.address(), &info, LEAST_VERSION).map_err(UnusableNode::Wrong)?;
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(channel).arg("");
        if let Err(error) = self.node.call(&publish).await {
            push_messages::warn_of_no_wake_ups(&error);
        }
        Ok(())
    }

    async fn meet(&self, channel: &str) -> Result<(), UnusableNode> {
        let checked = timeout(MEETING, self.check(channel));
        let silent = || {
            let silent = format!("it did not reply within {MEETING:?}");
            Err(UnusableNode::Down(BackendError::unknown(silent)))
        };
        let met = match checked {
            Some(checked) => checked.await.unwrap_or_else(|_elapsed| silent()),
            None => silent(),
        };
        let Err(UnusableNode::Down(error)) = met else {
            return met;
        };
        match self.quarantine.quarantined() {
            // The node is up, and will vote later.
            Some(NotAdmitted::TooYoung { version }) if error.is_temporary() => {
                check_version(self.address(), &version, LEAST_VERSION).map_err(UnusableNode::Wrong)
            }
            Some(NotAdmitted::Unfit(UnfitNode::Twin { other })) => {
                Err(UnusableNode::Wrong(ConnectError::NotIndependent {
                    one: other,
                    other: self.address().to_owned(),
                }))
            }
            Some(NotAdmitted::Unfit(UnfitNode::OfACluster | UnfitNode::Replica)) => Err(
                UnusableNode::Wrong(ConnectError::server(self.address(), error)),
            ),
            _ => Err(UnusableNode::Down(error)),
        }
    }
}

impl fmt::Debug for RedlockBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the URLs, which may contain passwords.
        f.debug_struct("RedlockBuilder")
            .field("nodes", &self.urls.len())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_than_fifteen_nodes_are_refused() {
        let connected = async |nodes: usize| {
            let urls = (1..=nodes).map(|host| format!("redis://127.0.0.{host}:1"));
            Redlock::new(urls).connect().await.unwrap_err()
        };
        let too_many = connected(NODES_AT_MOST + 1).await;
        assert!(
            matches!(too_many, Error::Connect(ConnectError::Url { .. })),
            "{too_many:?}"
        );
        let unreachable = connected(NODES_AT_MOST).await;
        let Error::Connect(ConnectError::NoQuorum { reached, .. }) = unreachable else {
            panic!("{unreachable:?}")
        };
        assert_eq!(reached, 0);
    }
}
