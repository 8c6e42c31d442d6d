//! Probes a node that is down, and sends the releases it has missed.

use std::sync::Weak;
use std::time::Duration;

use super::quorum_node::QuorumNode;
use super::request::NodeRelease;
use crate::backend::BackendError;
use crate::clock::{self, LeaseInstant};
use crate::runtime::{Runtime, timeout};

/// Pauses between looks: from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long making a connection may take, over a network that is far,
const CONNECTING: Duration = Duration::from_secs(5);

/// and how long an answer, at least.
const LOOK: Duration = Duration::from_secs(1);

/// How long somebody who watches is believed to.
const BELIEVED: Duration = Duration::from_secs(8);

impl QuorumNode {
    /// Fails if the node is down.
    pub(super) fn look(&self) -> Result<(), BackendError> {
        let Some(why) = self.health.trouble() else {
            return Ok(());
        };
        self.watch();
        Err(BackendError::not_applied(why))
    }

    /// Looks at the node until it is up and has been paid, in the background.
    pub(super) fn watch(&self) {
        // Also where nobody can look: whoever asks for the node next begins to.
        if self.health.trouble().is_none() && !self.backlog.is_empty() {
            self.health
                .mark_down("what is owed to it has to be paid first".to_owned());
        }
        let Some(runtime) = Runtime::current() else {
            return;
        };
        if self.health.begin_probe(BELIEVED) {
            runtime.spawn_on_current(NodeProbe(Weak::clone(&self.this)).keep());
        }
    }

    /// Whether the node answers, and has been paid.
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
            let Some(paid) = timeout(look, self.pay(&release)) else {
                return false;
            };
            match paid.await {
                Ok(Err(error)) if !self.refuses_it(&error) => return self.stays(&error),
                Ok(_) => self.backlog.paid(&release.pending),
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

/// The task that looks at a node which is down. Should its runtime end, another can begin.
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
    use super::*;
    use crate::backend::redis::wait::waiter_registry::WaiterRegistry;
    use crate::backend::redlock::release_backlog::PendingNodeRelease;
    use crate::{Key, OwnerId};

    fn push_pending(member: &QuorumNode) {
        member.backlog.push_pending(PendingNodeRelease {
            key: Key::new("", "k").unwrap(),
            round: OwnerId::random(),
            waiter: None,
            until: LeaseInstant::now().after(LOOK),
        });
    }

    #[test]
    fn outside_of_runtimes_a_node_that_is_owed_something_is_down_too() {
        let member = &QuorumNode::unreachable(1, &WaiterRegistry::new())[0];
        push_pending(member);
        member.watch();
        assert!(member.health.trouble().is_some());
        // Nobody has begun to look at it: whoever asks for it next does.
        assert!(member.health.begin_probe(BELIEVED));
    }

    #[tokio::test]
    async fn a_node_that_is_owed_something_is_down_and_one_that_is_down_keeps_its_reason() {
        let members = QuorumNode::unreachable(2, &WaiterRegistry::new());
        for (member, reason) in members.iter().zip(["what is owed", "silent"]) {
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
