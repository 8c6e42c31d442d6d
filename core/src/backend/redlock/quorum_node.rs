//! One node: its client, its health and its unconfirmed releases.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};

use super::answer_limit::AnswerLimit;
use super::distinct_nodes::DistinctNodes;
use super::node_health::NodeHealth;
use super::release_backlog::NodeReleaseBacklog;
use super::request::{self, NodeRelease};
use super::restart_quarantine::RestartQuarantine;
use super::round_state::Round;
use super::settings::Settings;
use crate::backend::BackendError;
use crate::backend::redis::client::ServerClient;
use crate::backend::redis::client::connector::Connector;
use crate::backend::redis::connection::target::Target;
use crate::backend::redis::protocol::reply;
use crate::backend::redis::protocol::unanswered_requests::UnansweredRequests;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;
use crate::runtime::timeout;

/// One of several nodes.
///
/// One that failed to answer in time is down: it is asked nothing until it has answered a PING, and what is owed to it
/// is paid first. So nodes that hang cost others nothing, and do not find a flood of old requests when they come back.
pub(super) struct QuorumNode {
    pub(super) place: usize,
    address: String,
    pub(super) node: ServerClient,
    pub(super) quarantine: Arc<RestartQuarantine>,
    pub(super) copies: UnansweredRequests,
    pub(super) node_timeout: Duration,
    pub(super) health: NodeHealth,
    pub(super) backlog: NodeReleaseBacklog,
    pub(super) this: Weak<Self>,
}

/// A release that is under way: should it be dropped, it is owed.
struct RequeueOnDrop<'a> {
    member: &'a QuorumNode,
    release: &'a NodeRelease,
    settled: bool,
}

impl Drop for RequeueOnDrop<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.member
                .backlog
                .push_pending(self.release.pending.clone());
            self.member.watch();
        }
    }
}

impl QuorumNode {
    fn new(
        place: usize,
        target: Target,
        waiters: WaiterRegistry,
        settings: &Settings,
        roster: &Arc<DistinctNodes>,
    ) -> Arc<Self> {
        let address = address_of(&target);
        let mut connector = Connector::new(target, waiters, request::load_scripts());
        let quarantine = Arc::new(RestartQuarantine::of(place, roster, settings.away()));
        let check = Arc::clone(&quarantine);
        connector.server_check = Some(Box::new(move |info| check.admit(info)));
        let node = ServerClient::new(connector);
        Arc::new_cyclic(|this| Self {
            place,
            address,
            node,
            quarantine,
            // A node that was restarted has forgotten which requests are to be refused, and stays out for longer.
            copies: UnansweredRequests::lasting(settings.max_ttl),
            node_timeout: settings.node_timeout,
            health: NodeHealth::default(),
            backlog: NodeReleaseBacklog::default(),
            this: Weak::clone(this),
        })
    }

    /// One for each target.
    pub(super) fn all(
        targets: Vec<Target>,
        waiters: &WaiterRegistry,
        settings: &Settings,
    ) -> Vec<Arc<Self>> {
        let roster = Arc::new(DistinctNodes::of(targets.iter().map(address_of)));
        let targets = targets.into_iter().enumerate();
        targets
            .map(|(place, target)| Self::new(place, target, waiters.clone(), settings, &roster))
            .collect()
    }

    /// What the nodes' errors call it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a command, unless the node is down.
    pub(super) async fn call(
        &self,
        limit: &AnswerLimit,
        command: &Cmd,
    ) -> Result<Value, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.node.call(command))).await
    }

    /// Sends several commands at once, unless the node is down.
    pub(super) async fn call_all(
        &self,
        limit: &AnswerLimit,
        commands: &Pipeline,
        count: usize,
    ) -> Result<Vec<Result<Value, BackendError>>, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.node.call_all(commands, count)))
            .await
    }

    /// Ends what a round has here, and the waiter's place: true if it held the lock. What cannot be told to the node
    /// is owed to it.
    pub(super) async fn release(
        &self,
        limit: &AnswerLimit,
        round: &Round,
        release: &NodeRelease,
    ) -> Result<bool, BackendError> {
        let (concerned, settled) = match release.pending.waiter {
            // Each of its rounds may have given it a place, and may do so yet.
            Some(_) => (
                round.may_wait_at(self.place),
                round.attempt_is_settled(self.place),
            ),
            None => (round.was_asked(self.place), round.is_settled(self.place)),
        };
        if !concerned {
            return Ok(false);
        }
        let mut pending_releases = RequeueOnDrop {
            member: self,
            release,
            settled: false,
        };
        let mut left = self.told(limit, release).await;
        if !settled && !matches!(left, Ok(true)) {
            // The request may have come after it. What is not known to have come is sealed off.
            left = Box::pin(self.send_again(limit.length(), round, release)).await;
        }
        pending_releases.settled = left.as_ref().map_or_else(|e| self.refuses_it(e), |_| true);
        left
    }

    async fn send_again(
        &self,
        limit: Duration,
        round: &Round,
        release: &NodeRelease,
    ) -> Result<bool, BackendError> {
        let settled = async {
            match release.pending.waiter {
                Some(_) => round.attempt_settled(self.place).await,
                None => round.settled(self.place).await,
            }
        };
        if let Some(settled) = timeout(limit * 2, settled) {
            // Whoever drives the request may have gone, and is not waited for.
            let _in_time = settled.await;
        }
        self.told(&limit.into(), release).await
    }

    /// A node that refuses a release for good is owed nothing. One that refuses a connection does not know of the
    /// release, and its password may be set right.
    pub(super) fn refuses_it(&self, error: &BackendError) -> bool {
        !error.is_temporary() && self.node.is_connected()
    }

    async fn told(&self, limit: &AnswerLimit, release: &NodeRelease) -> Result<bool, BackendError> {
        self.look()?;
        self.within(limit, pin!(self.pay(release))).await
    }

    pub(super) async fn pay(&self, release: &NodeRelease) -> Result<bool, BackendError> {
        let copies_until = self.copies.latest_expiry(release.pending.round);
        let answer = self.node.call(&release.command(copies_until)).await?;
        let answer: String = reply::read(answer)?;
        if answer == "unsealed" {
            return Err(BackendError::unknown(
                "the node has no memory left to note that a round is over",
            ));
        }
        self.copies.forget(release.pending.round, copies_until);
        Ok(answer == "left")
    }

    /// Waits for an answer, and takes the node for down if there is none.
    async fn within<T>(
        &self,
        limit: &AnswerLimit,
        mut call: Pin<&mut impl Future<Output = Result<T, BackendError>>>,
    ) -> Result<T, BackendError> {
        let answer = match limit {
            AnswerLimit::Own(length) => match timeout(*length, call) {
                Some(answer) => answer.await.ok(),
                None => return Err(outside_of_runtimes()),
            },
            AnswerLimit::Shared(deadline) if deadline.is_kept() => {
                let answer = poll_fn(|cx| match call.as_mut().poll(cx) {
                    Poll::Ready(answer) => Poll::Ready(Some(answer)),
                    Poll::Pending if deadline.has_passed() => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                });
                answer.await
            }
            AnswerLimit::Shared(_) => return Err(outside_of_runtimes()),
        };
        let Some(answer) = answer else {
            let silent = format!("it did not answer within {:?}", limit.length());
            self.health.mark_down(silent.clone());
            self.watch();
            return Err(BackendError::unknown(silent));
        };
        // A server that refuses a command is there.
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
    /// Nodes that nobody can reach.
    pub(super) fn unreachable(count: usize, waiters: &WaiterRegistry) -> Vec<Arc<Self>> {
        let target = |place| {
            let url = format!("redis://127.0.0.{}:1", place + 1);
            Target::from(redis::Client::open(url).unwrap())
        };
        let targets = (0..count).map(target).collect();
        Self::all(targets, waiters, &Settings::default())
    }
}

fn address_of(target: &Target) -> String {
    target.addr().to_string()
}

fn outside_of_runtimes() -> BackendError {
    BackendError::not_applied("a node can only be asked inside a tokio runtime").permanent()
}

impl fmt::Debug for QuorumNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("address", &self.address)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::backend::Applied;
    use crate::backend::redlock::answer_limit::SharedDeadline;

    #[test]
    fn outside_of_runtimes_nothing_is_asked() {
        let member = &QuorumNode::unreachable(1, &WaiterRegistry::new())[0];
        let length = member.node_timeout;
        for limit in [
            AnswerLimit::Own(length),
            AnswerLimit::Shared(SharedDeadline::of(length)),
        ] {
            let asked = member.call(&limit, &redis::cmd("PING")).now_or_never();
            let refused = asked.unwrap().unwrap_err();
            assert_eq!(refused.applied(), Applied::No, "{refused}");
            assert!(!refused.is_temporary() && member.health.trouble().is_none());
        }
    }
}
