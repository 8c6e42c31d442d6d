//! A release in progress. The release may hand the lock to a waiter of this process, which then sends no request.
//!
//! A release names the waiter of its process that has waited longest. If that waiter is also the first in the server's
//! queue, the script grants the lock to that waiter and confirms the grant. The reply contains the waiter's token. If
//! the queue is empty, and the named waiter is parked, the script has the effect of that waiter's acquire. Any other
//! reply means that the server did not hand off the lock. Without a reply, the server may have handed off the lock. The
//! waiter then polls, and receives the reply to a duplicate request.

use super::local_queue::{Event, LocalGrant, ReleaseEnd};
use super::waiter_registry::WaiterRegistry;
use crate::protocol::release_command::Successor;
use crate::protocol::reply::HandoffOutcome;
use crate::protocol::server_clock::ServerClock;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::{AttemptId, Key};

/// A release in progress, and the waiter that it names.
#[derive(Debug)]
pub(crate) struct ReleaseInFlight<'a> {
    waiters: &'a WaiterRegistry,
    key: &'a Key,
    successor: Option<Successor>,
    sent: LeaseInstant,
    /// The number of interruptions of the connection when the client sent the release.
    interruptions: u64,
}

impl<'a> ReleaseInFlight<'a> {
    /// Begins a release. If the server must refuse duplicate requests of the owner, the release cannot contain a
    /// request for a waiter.
    pub(crate) fn begin(
        waiters: &'a WaiterRegistry,
        server_clock: &ServerClock,
        key: &'a Key,
        owner: AttemptId,
        latest_expiry: u64,
    ) -> Self {
        let sent = LeaseInstant::now();
        let expiry = server_clock.expiry_at(sent).filter(|_| latest_expiry == 0);
        let interruptions = waiters.interruptions();
        let begun = waiters.apply(key, Event::ReleaseBegins(owner, expiry));
        Self {
            waiters,
            key,
            successor: begun.successor,
            sent,
            interruptions,
        }
    }

    pub(crate) fn successor(&self) -> Option<Successor> {
        self.successor
    }

    pub(crate) fn answered(mut self, outcome: HandoffOutcome) {
        self.end(match outcome {
            HandoffOutcome::Passed(token) => ReleaseEnd::Passed(LocalGrant {
                token,
                sent: self.sent,
                interruptions: self.interruptions,
            }),
            HandoffOutcome::NotPassed => ReleaseEnd::NotPassed,
            HandoffOutcome::Unawaited => ReleaseEnd::Unawaited,
        });
    }

    fn end(&mut self, end: ReleaseEnd) {
        if let Some(successor) = self.successor.take() {
            let event = Event::ReleaseEnds(successor, end);
            self.waiters.apply(self.key, event);
        }
    }
}

impl Drop for ReleaseInFlight<'_> {
    fn drop(&mut self) {
        self.end(ReleaseEnd::Unheard);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::{FutureExt, poll};
    use tokio::time::advance;

    use super::*;
    use crate::protocol::unanswered_requests::UnansweredRequests;
    use crate::time_limits::REQUESTS_LAST;
    use crate::wait::local_queue::{Arrival, PARKED_FOR};
    use leasehold_core::FencingToken;

    const PARKED: Arrival = Arrival {
        can_be_named: true,
        may_park: true,
    };

    fn key() -> Key {
        Key::new("", "k").unwrap()
    }

    fn owners<const N: usize>() -> [AttemptId; N] {
        [(); N].map(|()| AttemptId::random())
    }

    fn server_clock() -> ServerClock {
        let clock = ServerClock::new(REQUESTS_LAST);
        clock.observe(LeaseInstant::now(), 1_000_000);
        clock
    }

    #[tokio::test(start_paused = true)]
    async fn the_reply_to_a_release_grants_the_lock_to_the_named_waiter() {
        let (waiters, clock, key) = (WaiterRegistry::new(), server_clock(), key());
        let [holder, waiter] = owners();
        waiters.acquired(&key, holder);
        let unanswered = Arc::<UnansweredRequests>::default();
        let mut parked = waiters.arrive(Some(Arc::clone(&unanswered)), &key, waiter, PARKED);
        let mut granted = pin!(parked.granted());
        assert!(poll!(&mut granted).is_pending());
        let release = ReleaseInFlight::begin(&waiters, &clock, &key, holder, 0);
        assert_eq!(release.successor().unwrap().owner, waiter);
        advance(PARKED_FOR).await;
        assert!(poll!(&mut granted).is_pending());
        let token = FencingToken::try_from(7).unwrap();
        release.answered(HandoffOutcome::Passed(token));
        assert_eq!(granted.now_or_never().unwrap().unwrap().token, token);
        assert_eq!(unanswered.latest_expiry(), 0, "it was answered");
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_without_a_reply_is_noted_before_its_waiter_requests() {
        let (waiters, clock, key) = (WaiterRegistry::new(), server_clock(), key());
        let [holder, waiter] = owners();
        waiters.acquired(&key, holder);
        let unanswered = Arc::<UnansweredRequests>::default();
        let mut parked = waiters.arrive(Some(Arc::clone(&unanswered)), &key, waiter, PARKED);
        let mut granted = pin!(parked.granted());
        assert!(poll!(&mut granted).is_pending());
        let release = ReleaseInFlight::begin(&waiters, &clock, &key, holder, 0);
        let expiry = release.successor().unwrap().expiry;
        drop(release);
        assert!(granted.now_or_never().unwrap().is_none());
        assert_eq!(Some(unanswered.latest_expiry()), expiry);
    }

    #[tokio::test(start_paused = true)]
    async fn a_grant_has_the_interruption_count_of_its_connection() {
        let (waiters, clock, key) = (WaiterRegistry::new(), server_clock(), key());
        let [holder, waiter] = owners();
        waiters.interruption();
        waiters.acquired(&key, holder);
        let unanswered = Arc::<UnansweredRequests>::default();
        let mut parked = waiters.arrive(Some(Arc::clone(&unanswered)), &key, waiter, PARKED);
        let release = ReleaseInFlight::begin(&waiters, &clock, &key, holder, 0);
        waiters.interruption();
        let token = FencingToken::try_from(7).unwrap();
        release.answered(HandoffOutcome::Passed(token));
        let grant = parked.granted().await.unwrap();
        assert_eq!((grant.interruptions, waiters.interruptions()), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_release_with_possible_duplicate_requests_names_no_waiter() {
        let (waiters, clock, key) = (WaiterRegistry::new(), server_clock(), key());
        let [holder, waiter] = owners();
        waiters.acquired(&key, holder);
        let _parked = waiters.arrive(None, &key, waiter, PARKED);
        let release = ReleaseInFlight::begin(&waiters, &clock, &key, holder, 1);
        assert!(release.successor().is_none());
    }
}
