//! One waiter of a [`LocalQueue`](super::LocalQueue), and its state.

use crate::protocol::release_command::Successor;
use crate::time_limits::WAITER_LEASE;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::{AttemptId, FencingToken};

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) owner: AttemptId,
    pub(super) can_be_named: bool,
    pub(super) state: State,
    /// The number of the waiter's futures. The number is zero if the task was dropped with its runtime.
    pub(super) futures: usize,
    /// The time of the waiter's last future, if the waiter does not have a future now.
    pub(super) alone_since: LeaseInstant,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    Parked { until: LeaseInstant },
    Named { until: LeaseInstant, expiry: u64 },
    Requesting,
    Queued,
    Granted(LocalGrant),
    Gone,
}

/// A lock that a release of this process handed to a waiter. The waiter must still confirm the grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalGrant {
    pub(crate) token: FencingToken,
    /// The time at which the client sent that release. The lease counts from this time.
    pub(crate) sent: LeaseInstant,
    /// The number of interruptions of the connection when the client sent the release. After a later interruption
    /// another server may be the primary.
    pub(crate) interruptions: u64,
}

impl Waiter {
    pub(super) fn is_in_line(&self) -> bool {
        matches!(self.state, State::Requesting | State::Queued)
    }

    pub(super) fn has_asked(&self) -> bool {
        self.is_in_line() || matches!(self.state, State::Granted(_))
    }

    /// Returns the value with which a release names the waiter, if the waiter can accept the lock.
    pub(super) fn named(&self, expiry: Option<u64>) -> Option<Successor> {
        let owner = self.owner;
        (self.can_be_named && self.futures > 0).then_some(Successor { owner, expiry })
    }

    pub(super) fn future_ends(&mut self, now: LeaseInstant) {
        self.futures = self.futures.saturating_sub(1);
        self.alone_since = now;
    }

    /// Returns whether the waiter has not had a future for longer than its position on the server lasts.
    pub(super) fn is_abandoned(&self, now: LeaseInstant) -> bool {
        self.futures == 0 && now >= self.alone_since.after(WAITER_LEASE)
    }
}
