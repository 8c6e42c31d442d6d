//! Tracks which nodes have received requests of a round, and which nodes have replied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

use crate::protocol::unanswered_requests::UnansweredRequests;
use leasehold_core::AttemptId;

/// One try to get a majority, with a separate id. A late release of a failed round must not end the next round's
/// grants, and a late request must not count for the next round.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) id: AttemptId,
    /// The requests under this id without a reply, by node.
    unanswered: Arc<[UnansweredRequests]>,
    /// The nodes that received requests in earlier rounds, one bit each.
    before: u32,
    /// The nodes that received a request in this round, one bit each.
    asked: AtomicU32,
    /// The nodes that have received a request in this round, and have not replied yet.
    open: Arc<UnansweredNodes>,
    /// The pending requests of the attempt's earlier rounds.
    earlier: Vec<Arc<UnansweredNodes>>,
}

/// Returns the records of a new id, which has no requests yet.
pub(super) fn none_of(nodes: usize) -> Arc<[UnansweredRequests]> {
    (0..nodes).map(|_| UnansweredRequests::default()).collect()
}

/// The nodes with pending replies to a round, one bit each.
#[derive(Debug, Default)]
pub(super) struct UnansweredNodes {
    nodes: AtomicU32,
    settled: Notify,
}

impl Round {
    /// Creates a round of an attempt. `unanswered` contains the requests under the same id, `before` contains the nodes
    /// that have received requests of the attempt, and `earlier` contains the attempt's pending requests.
    pub(super) fn new(
        id: AttemptId,
        unanswered: Arc<[UnansweredRequests]>,
        before: u32,
        earlier: Vec<Arc<UnansweredNodes>>,
    ) -> Self {
        Self {
            id,
            unanswered,
            before,
            asked: AtomicU32::new(0),
            open: Arc::default(),
            earlier,
        }
    }

    /// Creates a round of which only the id is known, so every node may have received the round.
    pub(super) fn unknown(id: AttemptId, nodes: usize) -> Self {
        Self {
            asked: AtomicU32::new(u32::MAX),
            ..Self::new(id, none_of(nodes), u32::MAX, Vec::new())
        }
    }

    /// Returns the requests to a node under this id that have no reply.
    pub(super) fn unanswered(&self, place: usize) -> &UnansweredRequests {
        &self.unanswered[place]
    }

    /// Records a request to a node, until the returned guard is dropped. The caller records each request before sending
    /// it, so that a release of the round does not miss a late request.
    pub(super) fn asking(self: &Arc<Self>, place: usize) -> UnansweredGuard {
        let bit = 1 << place;
        self.open.nodes.fetch_or(bit, Ordering::AcqRel);
        self.asked.fetch_or(bit, Ordering::AcqRel);
        UnansweredGuard {
            round: Arc::clone(self),
            bit,
        }
    }

    /// Returns the nodes that may have received the attempt, one bit each.
    pub(super) fn asked(&self) -> u32 {
        self.before | self.asked.load(Ordering::Acquire)
    }

    /// Returns whether the node may have received the attempt.
    pub(super) fn may_wait_at(&self, place: usize) -> bool {
        self.asked() & (1 << place) != 0
    }

    /// Returns whether the node may have received this round.
    pub(super) fn was_asked(&self, place: usize) -> bool {
        self.asked.load(Ordering::Acquire) & (1 << place) != 0
    }

    pub(super) fn open(&self) -> &Arc<UnansweredNodes> {
        &self.open
    }

    /// Returns whether the node has replied, or will never reply.
    pub(super) fn is_settled(&self, place: usize) -> bool {
        self.open.is_settled(place)
    }

    /// Returns whether the node has replied to all rounds of the attempt so far, or will never reply. Each round may
    /// queue the waiter.
    pub(super) fn attempt_is_settled(&self, place: usize) -> bool {
        self.is_settled(place) && self.earlier.iter().all(|it| it.is_settled(place))
    }

    /// Waits until the node has replied, or will never reply.
    pub(super) async fn settled(&self, place: usize) {
        self.open.settled(place).await;
    }

    /// Waits until the node has replied to all rounds of the attempt so far, or will never reply.
    pub(super) async fn attempt_settled(&self, place: usize) {
        for round in &self.earlier {
            round.settled(place).await;
        }
        self.settled(place).await;
    }
}

impl UnansweredNodes {
    /// Returns whether all requests have a reply, or will never have one.
    pub(super) fn is_over(&self) -> bool {
        self.nodes.load(Ordering::Acquire) == 0
    }

    fn is_settled(&self, place: usize) -> bool {
        self.nodes.load(Ordering::Acquire) & (1 << place) == 0
    }

    async fn settled(&self, place: usize) {
        loop {
            let settled = self.settled.notified();
            if self.is_settled(place) {
                return;
            }
            settled.await;
        }
    }

    fn settle(&self, bit: u32) {
        self.nodes.fetch_and(!bit, Ordering::AcqRel);
        self.settled.notify_waiters();
    }
}

/// A pending request.
#[derive(Debug)]
pub(super) struct UnansweredGuard {
    round: Arc<Round>,
    bit: u32,
}

impl UnansweredGuard {
    /// Records that the client has not sent the request, and will never send the request.
    pub(super) fn never_sent(self) {
        self.round.asked.fetch_and(!self.bit, Ordering::AcqRel);
    }
}

impl Drop for UnansweredGuard {
    fn drop(&mut self) {
        self.round.open.settle(self.bit);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_node_counts_as_asked_unless_its_request_was_never_sent() {
        let round = Arc::new(Round::new(AttemptId::random(), none_of(3), 0b1, Vec::new()));
        let settled = |place| round.settled(place).now_or_never().is_some();
        let (sent, unsent) = (round.asking(1), round.asking(2));
        assert_eq!([0, 1, 2].map(|it| round.was_asked(it)), [false, true, true]);
        assert_eq!([0, 1, 2].map(settled), [true, false, false]);
        unsent.never_sent();
        drop(sent);
        assert_eq!(
            [0, 1, 2].map(|it| round.was_asked(it)),
            [false, true, false]
        );
        assert_eq!(
            [0, 1, 2].map(|it| round.may_wait_at(it)),
            [true, true, false]
        );
        assert_eq!([0, 1, 2].map(settled), [true, true, true]);
        let unknown = Round::unknown(AttemptId::random(), 15);
        assert!(unknown.was_asked(14) && unknown.may_wait_at(14));
    }
}
