//! Which nodes a round has asked, and which have answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

use crate::OwnerId;

/// One try at a majority, under an id of its own: a late release of a failed round must not end the next one's grants,
/// nor a late request of it be taken for the next one's.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) id: OwnerId,
    /// The nodes that were asked in earlier rounds, one bit each,
    before: u32,
    /// those that were asked in this one,
    asked: AtomicU32,
    /// and those among them whose answers are on their way.
    open: Arc<UnansweredNodes>,
    /// The same of the attempt's earlier rounds.
    earlier: Vec<Arc<UnansweredNodes>>,
}

/// The nodes whose answers to a round are on their way, one bit each.
#[derive(Debug, Default)]
pub(super) struct UnansweredNodes {
    nodes: AtomicU32,
    settled: Notify,
}

impl Round {
    /// A round of an attempt that has asked these nodes before, and may still be asking some.
    pub(super) fn new(id: OwnerId, before: u32, earlier: Vec<Arc<UnansweredNodes>>) -> Self {
        Self {
            id,
            before,
            asked: AtomicU32::new(0),
            open: Arc::default(),
            earlier,
        }
    }

    /// A round of which nothing is known but its id: every node may have heard of it.
    pub(super) fn unknown(id: OwnerId) -> Self {
        Self {
            asked: AtomicU32::new(u32::MAX),
            ..Self::new(id, u32::MAX, Vec::new())
        }
    }

    /// Notes that a node is to be asked, until the returned note is dropped. Noted before anything is sent: who ends the
    /// round must not miss a node that is asked late.
    pub(super) fn asking(self: &Arc<Self>, place: usize) -> UnansweredGuard {
        let bit = 1 << place;
        self.open.nodes.fetch_or(bit, Ordering::AcqRel);
        self.asked.fetch_or(bit, Ordering::AcqRel);
        UnansweredGuard {
            round: Arc::clone(self),
            bit,
        }
    }

    /// The nodes that may know of the attempt, one bit each.
    pub(super) fn asked(&self) -> u32 {
        self.before | self.asked.load(Ordering::Acquire)
    }

    /// Whether the node may know of the attempt.
    pub(super) fn may_wait_at(&self, place: usize) -> bool {
        self.asked() & (1 << place) != 0
    }

    /// Whether the node may know of this round.
    pub(super) fn was_asked(&self, place: usize) -> bool {
        self.asked.load(Ordering::Acquire) & (1 << place) != 0
    }

    pub(super) fn open(&self) -> &Arc<UnansweredNodes> {
        &self.open
    }

    /// Whether the node has answered, or will not.
    pub(super) fn is_settled(&self, place: usize) -> bool {
        self.open.is_settled(place)
    }

    /// The same of all rounds of the attempt so far: each may give its waiter a place.
    pub(super) fn attempt_is_settled(&self, place: usize) -> bool {
        self.is_settled(place) && self.earlier.iter().all(|it| it.is_settled(place))
    }

    /// Waits until the node has answered, or will not.
    pub(super) async fn settled(&self, place: usize) {
        self.open.settled(place).await;
    }

    /// The same of all rounds of the attempt so far.
    pub(super) async fn attempt_settled(&self, place: usize) {
        for round in &self.earlier {
            round.settled(place).await;
        }
        self.settled(place).await;
    }
}

impl UnansweredNodes {
    /// Whether all nodes that were asked have answered, or will not.
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

/// A request under way.
#[derive(Debug)]
pub(super) struct UnansweredGuard {
    round: Arc<Round>,
    bit: u32,
}

impl UnansweredGuard {
    /// Nothing was sent, and nothing will be.
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
    async fn a_node_has_heard_of_a_round_unless_nothing_was_sent() {
        let round = Arc::new(Round::new(OwnerId::random(), 0b1, Vec::new()));
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
        let unknown = Round::unknown(OwnerId::random());
        assert!(unknown.was_asked(14) && unknown.may_wait_at(14));
    }
}
