//! Settings of a Redlock backend, and connecting to its nodes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Redlock;
use super::majority::{majority, no_quorum};
use super::node_admission::{NotAdmitted, UnfitNode};
use super::node_requests::NodeRequests;
use super::quorum_node::QuorumNode;
use super::settings::Settings;
#[cfg(feature = "tls-rustls")]
use crate::backend::certificates::Certificates;
use crate::backend::redis::builder::{check_version, judge, opened};
use crate::backend::redis::connection::push_handler;
#[cfg(feature = "tls-rustls")]
use crate::backend::redis::connection::tls;
use crate::backend::redis::connection::transport::Target;
use crate::backend::redis::protocol::reply;
use crate::backend::redis::url;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;
use crate::backend::{Applied, BackendError, ConnectError};
use crate::clock::{self, LeaseInstant};
use crate::runtime::timeout;

/// The most nodes that there can be: more only cost, for three of five may fail already.
const NODES_AT_MOST: usize = 15;

/// The oldest server whose scripts behave as ours expect.
const LEAST_VERSION: (u32, u32) = (6, 2);

/// How long a node may take to answer at first.
const MEETING: Duration = Duration::from_secs(5);

/// A majority has answered: how long the others are waited for, of which one may be no node of its own.
const LATE: Duration = Duration::from_millis(200);

/// How to lock on several nodes. Made by [`Redlock::new`].
#[derive(Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct RedlockBuilder {
    urls: Vec<String>,
    settings: Settings,
    #[cfg(feature = "tls-rustls")]
    certificates: Certificates,
}

impl RedlockBuilder {
    /// How long one node may take to answer before it counts as down; 200 ms if not set. Nobody waits for it as long as
    /// a majority answers. Locks need a TTL of at least six times as much.
    pub fn node_timeout(mut self, limit: Duration) -> Self {
        self.settings.node_timeout = limit;
        self
    }

    /// The longest TTL that a lock may have; a minute if not set. A node that was restarted stays out for at least as
    /// long, so that whatever it has forgotten has run out when it votes again. All clients of the same nodes must be
    /// given the same.
    pub fn max_ttl(mut self, ttl: Duration) -> Self {
        self.settings.max_ttl = ttl;
        self
    }

    /// By how much the clocks of two nodes may differ; ten seconds if not set. A node that was restarted stays out for
    /// at least a second longer, so that its tokens are above all that it has forgotten.
    pub fn clock_difference(mut self, difference: Duration) -> Self {
        self.settings.clock_difference = difference;
        self
    }

    /// Sets how long nodes keep the last fencing token of a key after its last acquisition: two days if not set, ten minutes
    /// at least, and twice `max_ttl` and `clock_difference`, and a year at most. See
    /// [`RedisBuilder::fence_ttl`](crate::backend::redis::RedisBuilder::fence_ttl).
    pub fn fence_ttl(mut self, fence_ttl: Duration) -> Self {
        self.settings.fence_ttl = fence_ttl;
        self
    }

    /// Says that no node ever forgets what it has answered (`appendfsync always`, `noeviction`, no replica that is
    /// promoted in its place): then a restarted node votes at once.
    ///
    /// If that is not true, two clients can hold one lock after a restart, and tokens can be drawn twice.
    pub fn durable_nodes(mut self, durable: bool) -> Self {
        self.settings.durable = durable;
        self
    }

    /// Trusts nodes whose certificates these authorities have signed, and no others. As PEM, with any number of
    /// certificates. All URLs have to begin with `rediss`.
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        self.certificates.authorities = Some(pem.into());
        self
    }

    /// Shows nodes that ask for it this certificate, followed by those between it and its authority, all as PEM.
    /// The private key is PEM without a password. All URLs have to begin with `rediss`.
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

    /// What one node's URL names, with what our connections need.
    fn target(&self, url: &str) -> Result<Target, ConnectError> {
        let target = opened(url::one(url)?)?;
        #[cfg(feature = "tls-rustls")]
        let target = target.with_certificates(&tls::read(&self.certificates, url)?);
        Ok(target)
    }

    /// Connects to the nodes, and waits for a majority of them, and 200 ms for the others.
    ///
    /// # Errors
    ///
    /// [`ConnectError::NoQuorum`] if less than a majority can be used, [`ConnectError::NotIndependent`] if two names lead
    /// to one server, [`ConnectError::Server`] if a server is a replica or a member of a Cluster, [`ConnectError::TooOld`]
    /// if one of the servers is, [`ConnectError::Url`] if a URL is wrong, or names a node twice, and
    /// [`ConnectError::Option`] for an option that cannot work, [`ConnectError::Certificates`] for certificates that cannot be
    /// used. A node that does not vote yet, for it was restarted a
    /// short while ago, can be used. What is found out later about a node that was not waited for is a warning in the
    /// trace, and such a node has no vote.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    pub async fn connect(self) -> Result<Redlock, ConnectError> {
        self.settings.validate()?;
        let waiters = WaiterRegistry::new();
        let targets = self.urls.iter().map(|url| self.target(url));
        let targets: Vec<_> = targets.collect::<Result<_, _>>()?;
        let nodes = targets.len();
        if nodes == 0 || nodes > NODES_AT_MOST {
            return Err(ConnectError::url(format!(
                "{nodes} nodes are named; name between 1 and {NODES_AT_MOST}, and best 5"
            )));
        }
        let members = QuorumNode::all(targets, &waiters, &self.settings);
        for member in &members {
            if let Some(twin) = members[..member.place]
                .iter()
                .find(|it| it.address() == member.address())
            {
                return Err(ConnectError::url(format!(
                    "the node {} is named twice, and would vote twice; name independent servers",
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
    /// Names the nodes, by URLs as those of [`Redis::connect`](crate::backend::redis::Redis::connect).
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
        reason = "it is nothing before it is connected"
    )]
    pub fn new<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> RedlockBuilder {
        RedlockBuilder {
            urls: urls.into_iter().map(Into::into).collect(),
            settings: Settings::default(),
            #[cfg(feature = "tls-rustls")]
            certificates: Certificates::default(),
        }
    }

    /// Waits until a majority was reached, and a little for the others.
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
            // Nobody has asked for a lock yet.
            source: source.with_applied(Applied::No),
        })
    }
}

/// Why a node is not there.
enum UnusableNode {
    /// The others may do.
    Down(BackendError),
    /// Nobody should lock with it among them.
    Wrong(ConnectError),
}

impl QuorumNode {
    async fn check(&self, channel: &str) -> Result<(), UnusableNode> {
        let info = self.node.call(&redis::cmd("INFO")).await;
        let info: String = info.and_then(reply::read).map_err(UnusableNode::Down)?;
        judge(self.address(), &info, LEAST_VERSION).map_err(UnusableNode::Wrong)?;
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(channel).arg("");
        if let Err(error) = self.node.call(&publish).await {
            push_handler::warn_of_no_wake_ups(&error);
        }
        Ok(())
    }

    async fn meet(&self, channel: &str) -> Result<(), UnusableNode> {
        let checked = timeout(MEETING, self.check(channel));
        let silent = || {
            let silent = format!("it did not answer within {MEETING:?}");
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
            // It is there, and its time to vote will come.
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
        // The URLs may hold passwords.
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
    async fn fifteen_nodes_can_be_named_and_no_more() {
        let connected = async |nodes: usize| {
            let urls = (1..=nodes).map(|host| format!("redis://127.0.0.{host}:1"));
            Redlock::new(urls).connect().await.unwrap_err()
        };
        let too_many = connected(NODES_AT_MOST + 1).await;
        assert!(matches!(too_many, ConnectError::Url { .. }), "{too_many:?}");
        let unreachable = connected(NODES_AT_MOST).await;
        let expected = matches!(unreachable, ConnectError::NoQuorum { reached: 0, .. });
        assert!(expected, "{unreachable:?}");
    }
}
