//! Tracks acquire requests that have no reply yet: a late duplicate must not acquire again.

use std::time::Duration;

use parking_lot::Mutex;

use super::micros;
use crate::OwnerId;
use crate::backend::redis::timing::COPIES_LAST;
use crate::clock::LeaseInstant;
use crate::owner_id::OwnerMap;

/// How many unanswered requests there are at least before somebody looks which of them can be forgotten.
const MANY: usize = 64;

/// The server's clock as far as known, and the requests whose answers never came.
#[derive(Debug)]
pub(crate) struct UnansweredRequests {
    start: LeaseInstant,
    /// How long after its sending a request may still be carried out.
    last: Duration,
    state: Mutex<RequestLog>,
}

#[derive(Debug, Default)]
struct RequestLog {
    /// The server's microseconds at `start`, or a little more.
    server_start: Option<u64>,
    unanswered: OwnerMap<UnansweredRequest>,
    /// How many of them make it worth while to look which can be forgotten.
    many: usize,
}

#[derive(Debug, Clone, Copy)]
struct UnansweredRequest {
    /// The server time from which on all copies are refused.
    expiry: u64,
    /// Long after that, for those of whom nobody asks any more.
    forget_at: LeaseInstant,
}

impl UnansweredRequests {
    pub(crate) fn new() -> Self {
        Self::lasting(COPIES_LAST)
    }

    pub(crate) fn lasting(last: Duration) -> Self {
        Self {
            start: LeaseInstant::now(),
            last,
            state: Mutex::default(),
        }
    }

    /// Learns the server's clock from an answer to a request that was sent at `sent`.
    pub(crate) fn observe_time(&self, sent: LeaseInstant, server_micros: u64) {
        let since_start = micros(sent.since(self.start));
        self.state.lock().server_start = Some(server_micros.saturating_sub(since_start));
    }

    /// From which server time on a request that is sent now is to be refused; none if the server's clock
    /// is not known yet.
    pub(crate) fn expiry(&self) -> Option<u64> {
        self.expiry_at(LeaseInstant::now())
    }

    /// The same, as of a moment that was read just before.
    pub(crate) fn expiry_at(&self, now: LeaseInstant) -> Option<u64> {
        let server_start = self.state.lock().server_start?;
        let now = micros(now.since(self.start));
        Some(
            server_start
                .saturating_add(now)
                .saturating_add(micros(self.last)),
        )
    }

    /// Notes that an answer is missing, until the returned note is told otherwise.
    pub(crate) fn sending(&self, owner: OwnerId, expiry: u64) -> InFlightRequest<'_> {
        InFlightRequest {
            copies: self,
            owner,
            expiry,
            answered: false,
        }
    }

    /// Up to which server time copies of the owner's requests may still be carried out; zero if all were
    /// answered. Never as a duration: what this process believes of the server's clock may be ahead of it by
    /// as much as the answer took that told it.
    pub(crate) fn latest_expiry(&self, owner: OwnerId) -> u64 {
        let state = self.state.lock();
        let copy = state.unanswered.get(&owner);
        copy.filter(|it| !it.forget_at.has_passed())
            .map_or(0, |it| it.expiry)
    }

    /// Forgets the copies that a server was told of, by their expiry: others may have been noted since.
    pub(crate) fn forget(&self, owner: OwnerId, told: u64) {
        let mut state = self.state.lock();
        let copy = state.unanswered.get(&owner);
        if copy.is_some_and(|copy| copy.expiry <= told) {
            state.unanswered.remove(&owner);
        }
    }
}

/// A request on its way.
#[derive(Debug)]
pub(crate) struct InFlightRequest<'a> {
    copies: &'a UnansweredRequests,
    owner: OwnerId,
    expiry: u64,
    answered: bool,
}

impl InFlightRequest<'_> {
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let mut state = self.copies.state.lock();
        let RequestLog {
            unanswered, many, ..
        } = &mut *state;
        let now = LeaseInstant::now();
        // Not each time: during an outage there are many, and none can be forgotten.
        if unanswered.len() >= *many {
            unanswered.retain(|_, copy| copy.forget_at > now);
            *many = MANY.max(unanswered.len() * 2);
        }
        let earlier = unanswered.get(&self.owner).map_or(0, |copy| copy.expiry);
        let copy = UnansweredRequest {
            expiry: self.expiry.max(earlier),
            forget_at: now.after(self.copies.last * 4),
        };
        unanswered.insert(self.owner, copy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_COMMAND_TIMEOUT;

    #[tokio::test(start_paused = true)]
    async fn a_seal_lasts_until_the_copys_own_expiry_whatever_was_learnt_since() {
        let copies = UnansweredRequests::new();
        let sent = LeaseInstant::now();
        tokio::time::advance(Duration::from_secs(3)).await;
        // The answer took three seconds to come, so the server's clock is taken for three seconds ahead.
        copies.observe_time(sent, 1_000_000);
        let (owner, expiry) = (OwnerId::random(), copies.expiry().unwrap());
        assert_eq!(copies.latest_expiry(owner), 0);
        drop(copies.sending(owner, expiry));
        copies.observe_time(LeaseInstant::now(), 1_000_000);
        assert!(copies.expiry().unwrap() < expiry);
        assert_eq!(copies.latest_expiry(owner), expiry);
        copies.sending(owner, expiry - 1).answered();
        drop(copies.sending(owner, expiry - 1));
        assert_eq!(copies.latest_expiry(owner), expiry);
        copies.forget(owner, expiry);
        assert_eq!(copies.latest_expiry(owner), 0);
    }

    #[test]
    fn a_copy_that_is_noted_while_a_server_is_told_of_others_is_not_forgotten_with_them() {
        let copies = UnansweredRequests::new();
        copies.observe_time(LeaseInstant::now(), 1_000_000);
        let (owner, expiry) = (OwnerId::random(), copies.expiry().unwrap());
        for (told, noted) in [(0, expiry), (expiry, expiry + 1)] {
            assert_eq!(copies.latest_expiry(owner), told);
            drop(copies.sending(owner, noted));
            copies.forget(owner, told);
            assert_eq!(copies.latest_expiry(owner), noted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_unanswered_is_known_for_as_long_as_a_copy_may_come_and_not_for_ever() {
        const { assert!(COPIES_LAST.as_secs() > MAX_COMMAND_TIMEOUT.as_secs()) };
        let copies = UnansweredRequests::new();
        copies.observe_time(LeaseInstant::now(), 1_000_000);
        let (lost, expiry) = (OwnerId::random(), copies.expiry().unwrap());
        drop(copies.sending(lost, expiry));
        let another_is_lost = || drop(copies.sending(OwnerId::random(), expiry));
        tokio::time::advance(COPIES_LAST).await;
        another_is_lost();
        assert_eq!(copies.latest_expiry(lost), expiry);
        tokio::time::advance(COPIES_LAST * 4).await;
        assert_eq!(copies.latest_expiry(lost), 0);
        for _ in 0..1_000 {
            another_is_lost();
            tokio::time::advance(COPIES_LAST / 10).await;
        }
        let kept = copies.state.lock().unanswered.len();
        assert!(kept <= MANY * 2, "{kept} of 40 that may matter");
    }
}
