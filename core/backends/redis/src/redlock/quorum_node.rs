//! One node: its client, its health and its unconfirmed releases, and the probe that checks the node while the node is
//! down.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};

use super::node_admission::{DistinctNodes, RestartQuarantine};
use super::node_health::NodeHealth;
use super::node_scripts::{self, NodeRelease};
use super::release_backlog::NodeReleaseBacklog;
use super::settings::RedlockSettings;
use crate::client::ServerClient;
use crate::client::connector::Connector;
use crate::connection::transport::Target;
use crate::protocol::server_clock::ServerClock;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::support::runtime::{Runtime, timeout};

/// One of several nodes.
///
/// A node that did not reply in time is down. A node that is down receives no requests until it has replied to a PING
/// and received the pending releases. So an unresponsive node does not delay other nodes, and does not receive many old
/// requests when it is up again.
pub(super) struct QuorumNode {
    pub(super) place: usize,
    address: String,
    pub(super) node: ServerClient,
    pub(super) quarantine: Arc<RestartQuarantine>,
    pub(super) server_clock: ServerClock,
    pub(super) node_timeout: Duration,
    pub(super) health: NodeHealth,
    pub(super) backlog: NodeReleaseBacklog,
    pub(super) this: Weak<Self>,
}

impl QuorumNode {
    fn new(
        place: usize,
        target: Target,
        waiters: WaiterRegistry,
        settings: &RedlockSettings,
        roster: &Arc<DistinctNodes>,
    ) -> Arc<Self> {
        let address = address_of(&target);
        let mut connector = Connector::new(target, waiters, node_scripts::load_scripts());
        let quarantine = Arc::new(RestartQuarantine::of(place, roster, settings.away()));
        let check = Arc::clone(&quarantine);
        connector.server_check = Some(Box::new(move |info| check.admit(info)));
        let node = ServerClient::new(connector);
        Arc::new_cyclic(|this| Self {
            place,
            address,
            node,
            quarantine,
            // A restarted node has forgotten its tombstones, but it does not vote until requests from before the
            // restart have expired.
            server_clock: ServerClock::new(settings.max_ttl),
            node_timeout: settings.node_timeout,
            health: NodeHealth::default(),
            backlog: NodeReleaseBacklog::default(),
            this: Weak::clone(this),
        })
    }

    /// Creates one node for each target.
    pub(super) fn all(
        targets: Vec<Target>,
        waiters: &WaiterRegistry,
        settings: &RedlockSettings,
    ) -> Vec<Arc<Self>> {
        let roster = Arc::new(DistinctNodes::of(targets.iter().map(address_of)));
        let targets = targets.into_iter().enumerate();
        targets
            .map(|(place, target)| Self::new(place, target, waiters.clone(), settings, &roster))
            .collect()
    }

    /// Returns the address, as it appears in the node's errors.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a command, unless the node is down.
    pub(super) async fn call(&self, limit: Duration, command: &Cmd) -> Result<Value, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.node.call(command))).await
    }

    /// Sends several commands concurrently, unless the node is down.
    pub(super) async fn call_all(
        &self,
        limit: Duration,
        commands: &Pipeline,
        count: usize,
    ) -> Result<Vec<Result<Value, BackendError>>, BackendError> {
        self.look()?;
        let sent = pin!(self.node.send_all(commands, count, None));
        Ok(self.within(limit, sent).await?.answer)
    }

    /// Waits for a reply, and marks the node as down if no reply arrives.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        call: Pin<&mut impl Future<Output = Result<T, BackendError>>>,
    ) -> Result<T, BackendError> {
        let answer = timeout(limit, call).ok_or_else(BackendError::outside_a_runtime)?;
        let Ok(answer) = answer.await else {
            let silent = format!("it did not reply within {limit:?}");
            self.health.mark_down(silent.clone());
            self.watch();
            return Err(BackendError::unknown(silent));
        };
        // A server that refuses a command is up.
        if let Err(error) = &answer
            && !self.node.is_connected()
        {
            self.health.mark_down(error.to_string());
            self.watch();
        }
        answer
    }
}

#[cfg(test)]
impl QuorumNode {
    /// Returns nodes that the client cannot reach.
    pub(super) fn unreachable(count: usize, waiters: &WaiterRegistry) -> Vec<Arc<Self>> {
        let target = |place| {
            let url = format!("redis://127.0.0.{}:1", place + 1);
            Target::from(redis::Client::open(url).unwrap())
        };
        let targets = (0..count).map(target).collect();
        Self::all(targets, waiters, &RedlockSettings::default())
    }
}

fn address_of(target: &Target) -> String {
    target.addr().to_string()
}

impl fmt::Debug for QuorumNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumNode")
            .field("address", &self.address)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

/// The pauses between probes: from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The time limit for connecting, which must be enough for a slow network.
const CONNECTING: Duration = Duration::from_secs(5);

/// The minimum time limit for a reply.
const LOOK: Duration = Duration::from_secs(1);

/// The time without a report for which the client assumes that a probe is running.
const BELIEVED: Duration = Duration::from_secs(8);

impl QuorumNode {
    /// Returns an error if the node is down.
    pub(super) fn look(&self) -> Result<(), BackendError> {
        let Some(why) = self.health.trouble() else {
            return Ok(());
        };
        self.watch();
        Err(BackendError::not_applied(why))
    }

    /// Probes the node in the background until it is up and has received the pending releases.
    pub(super) fn watch(&self) {
        // This also works without a runtime: the next request to the node starts the probe.
        if self.health.trouble().is_none() && !self.backlog.is_empty() {
            self.health
                .mark_down("its pending releases must be sent first".to_owned());
        }
        let Some(runtime) = Runtime::current() else {
            return;
        };
        if self.health.begin_probe(BELIEVED) {
            runtime.spawn_on_current(NodeProbe(Weak::clone(&self.this)).keep());
        }
    }

    /// Returns whether the node replies, and has received the pending releases.
    async fn is_back(&self) -> bool {
        let ping = redis::cmd("PING");
        let look = LOOK.max(self.node_timeout);
        let limit = match self.node.is_connected() {
            true => look,
            false => look.max(CONNECTING),
        };
        let Some(answer) = timeout(limit, self.node.call(&ping)) else {
            return false;
        };
        match answer.await {
            Ok(Ok(_pong)) => {}
            Ok(Err(error)) => return self.stays(&error),
            Err(_elapsed) => return false,
        }
        while let Some(pending) = self.backlog.next() {
            let release = NodeRelease::new(pending);
            let Some(sent) = timeout(look, self.send_release_once(&release)) else {
                return false;
            };
            match sent.await {
                Ok(Err(error)) if !self.refuses_it(&error) => return self.stays(&error),
                Ok(_) => self.backlog.confirm(&release.pending),
                Err(_elapsed) => return false,
            }
        }
        true
    }

    fn stays(&self, error: &BackendError) -> bool {
        self.health.mark_down(error.to_string());
        false
    }
}

/// The task that probes a node while the node is down. If the runtime of the task ends, another task can start.
struct NodeProbe(Weak<QuorumNode>);

impl NodeProbe {
    async fn keep(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(member) = self.0.upgrade() else {
                return;
            };
            if member.is_back().await && member.health.mark_up(|| member.backlog.is_empty()) {
                return;
            }
            if !member.health.continue_probe(BELIEVED) {
                return;
            }
            drop(member);
            clock::sleep_until(LeaseInstant::now().after(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for NodeProbe {
    fn drop(&mut self) {
        if let Some(member) = self.0.upgrade() {
            member.health.end_probe();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::redlock::asked_nodes::Round;
    use crate::redlock::release_backlog::PendingNodeRelease;
    use crate::wait::waiter_registry::WaiterRegistry;
    use leasehold_core::backend::Applied;
    use leasehold_core::{AttemptId, Key};

    #[test]
    fn outside_a_runtime_a_request_is_refused_and_not_sent() {
        let member = &QuorumNode::unreachable(1, &WaiterRegistry::new())[0];
        let ping = redis::cmd("PING");
        let asked = member.call(member.node_timeout, &ping).now_or_never();
        let refused = asked.unwrap().unwrap_err();
        assert_eq!(refused.applied(), Applied::No, "{refused}");
        assert!(!refused.is_temporary() && member.health.trouble().is_none());
    }

    fn push_pending(member: &QuorumNode) {
        member.backlog.push_pending(PendingNodeRelease {
            key: Key::new("", "k").unwrap(),
            round: Arc::new(Round::unknown(AttemptId::random(), 3)),
            waiter: None,
            until: LeaseInstant::now().after(LOOK),
        });
    }

    #[test]
    fn outside_a_runtime_a_node_with_pending_releases_is_down() {
        let member = &QuorumNode::unreachable(1, &WaiterRegistry::new())[0];
        push_pending(member);
        member.watch();
        assert!(member.health.trouble().is_some());
        // No probe is running, so the next request starts one.
        assert!(member.health.begin_probe(BELIEVED));
    }

    #[tokio::test]
    async fn a_node_with_pending_releases_is_down_and_keeps_an_earlier_reason() {
        let members = QuorumNode::unreachable(2, &WaiterRegistry::new());
        for (member, reason) in members.iter().zip(["its pending", "silent"]) {
            if reason == "silent" {
                member.health.mark_down(reason.to_owned());
            }
            push_pending(member);
            member.watch();
            let why = member.health.trouble().unwrap_or_default();
            assert!(why.starts_with(reason), "{why}");
        }
    }
}
