use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Redlock;
use super::asked::Asked;
use super::election::majority;
use super::member::Member;
use super::quorum::no_quorum;
use super::settings::Settings;
use crate::backend::redis::answer;
use crate::backend::redis::connect::{client_at, judge, judge_version};
use crate::backend::redis::inbox::Inbox;
use crate::backend::redis::warning;
use crate::backend::{BackendError, ConnectError};
use crate::runtime::timeout;

/// The most nodes that there can be: more only cost, for three of five may fail already.
const NODES_AT_MOST: usize = 15;

/// The oldest server whose scripts behave as ours expect.
const LEAST_VERSION: (u32, u32) = (6, 2);

/// How long a node may take to answer at first.
const MEETING: Duration = Duration::from_secs(5);

/// How to lock on several nodes. Made by [`Redlock::new`].
#[derive(Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct RedlockBuilder {
    urls: Vec<String>,
    settings: Settings,
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

    /// Says that no node ever forgets what it has answered (`appendfsync always`, `noeviction`, no replica that is
    /// promoted in its place): then a restarted node votes at once.
    ///
    /// If that is not true, two clients can hold one lock after a restart, and tokens can be drawn twice.
    pub fn durable_nodes(mut self, durable: bool) -> Self {
        self.settings.durable = durable;
        self
    }

    /// Connects to the nodes, and waits for a majority of them.
    ///
    /// # Errors
    ///
    /// [`ConnectError::NoQuorum`] if less than a majority can be used, [`ConnectError::TooOld`] if one of the servers
    /// is, [`ConnectError::Url`] if a URL is wrong, or names a node twice, and [`ConnectError::Option`] for an option
    /// that cannot work. A node that does not vote yet, for it was restarted a short while ago, can be used.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    pub async fn connect(self) -> Result<Redlock, ConnectError> {
        self.settings.validate()?;
        let inbox = Inbox::new();
        let mut members = Vec::new();
        for url in &self.urls {
            let client = client_at(url)?;
            members.push(Member::new(
                members.len(),
                client,
                inbox.clone(),
                &self.settings,
            ));
        }
        let nodes = members.len();
        if nodes == 0 || nodes > NODES_AT_MOST {
            return Err(ConnectError::url(format!(
                "{nodes} nodes are named; name between 1 and {NODES_AT_MOST}, and best 5"
            )));
        }
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
        let redlock = Redlock::of(members, inbox, self.settings);
        redlock.meet().await?;
        Ok(redlock)
    }
}

impl Redlock {
    /// Names the nodes, by URLs as those of [`Redis::connect`](super::super::Redis::connect).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::backend::redis::Redlock;
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
        }
    }

    /// Waits until a majority was reached, and not for the others.
    async fn meet(&self) -> Result<(), ConnectError> {
        let nodes = self.members.len();
        let needed = majority(nodes);
        let mut reached = 0;
        let mut failures = Vec::new();
        let mut servers: Vec<(String, usize)> = Vec::new();
        let mut asked = Asked::new(self.members.iter().map(|member| {
            let (member, channel) = (Arc::clone(member), self.inbox.channel());
            async move { (member.place, member.meet(&channel).await) }
        }));
        while reached < needed
            && let Some((place, met)) = asked.next().await
        {
            match met {
                Ok(server) => {
                    reached += 1;
                    if let Some((_, twin)) = servers.iter().find(|it| it.0 == server) {
                        return Err(ConnectError::url(format!(
                            "{} and {} are one server, which would vote twice; name independent servers",
                            self.members[*twin].address(),
                            self.members[place].address()
                        )));
                    }
                    servers.extend(Some((server, place)).filter(|it| !it.0.is_empty()));
                }
                Err(ConnectError::Server { source }) => failures.push((place, source)),
                Err(unusable) => return Err(unusable),
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
            source,
        })
    }
}

impl Member {
    /// The server's run id.
    async fn check(&self, channel: &str) -> Result<String, ConnectError> {
        let info = self.node.call(&redis::cmd("INFO")).await;
        let info: String = info.and_then(answer::read).map_err(ConnectError::server)?;
        judge(&info, LEAST_VERSION)?;
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(channel).arg("");
        if let Err(error) = self.node.call(&publish).await {
            warning::no_wake_ups(&error);
        }
        let run_id = answer::info_field(&info, "run_id");
        Ok(run_id.unwrap_or_default().to_owned())
    }

    async fn meet(&self, channel: &str) -> Result<String, ConnectError> {
        let checked = timeout(MEETING, self.check(channel));
        let silent = || {
            let silent = format!("it did not answer within {MEETING:?}");
            Err(ConnectError::server(BackendError::unknown(silent)))
        };
        let met = match checked {
            Some(checked) => checked.await.unwrap_or_else(|_elapsed| silent()),
            None => silent(),
        };
        let Err(ConnectError::Server { source }) = &met else {
            return met;
        };
        match self.node.too_young() {
            // It is there, and its time to vote will come.
            Some(server) if source.is_temporary() => {
                judge_version(&server.version, LEAST_VERSION)?;
                Ok(server.run_id)
            }
            _ => met,
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
