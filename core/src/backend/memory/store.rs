//! All keys of the in-process backend, protected by one mutex.

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::entry::KeyState;
use super::fencing_tokens::Tokens;
use crate::Key;
use crate::backend::{
    Attempt, AttemptAnswer, BackendError, Claim, HandoverSecret, Inspection, Outcome,
    ReleaseAnswer, RenewAnswer,
};
use crate::sweep_limit::SweepLimit;

/// The smallest number of keys at which the store searches for expired leases.
const SWEEP_FROM: usize = 1024;

/// All keys of one backend. Only keys in use are in memory.
#[derive(Debug, Default)]
pub(super) struct Store {
    entries: HashMap<Key, KeyState>,
    tokens: Tokens,
    sweep_limit: SweepLimit<SWEEP_FROM>,
    /// The latest time that a caller has passed. Some callers read the clock before they lock the mutex, so times can
    /// arrive out of order.
    latest: Option<Instant>,
}

impl Store {
    /// Returns a time that never decreases.
    fn at(&mut self, now: Instant) -> Instant {
        let latest = self.latest.map_or(now, |latest| latest.max(now));
        self.latest = Some(latest);
        latest
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn attempt(
        &mut self,
        attempt: &Attempt,
        now: Instant,
    ) -> Result<AttemptAnswer, BackendError> {
        let now = self.at(now);
        self.sweep(now);
        let mut entry = match self.entries.entry(attempt.key.clone()) {
            hash_map::Entry::Occupied(entry) => entry,
            hash_map::Entry::Vacant(place) => place.insert_entry(KeyState::default()),
        };
        let answer = entry.get_mut().attempt(attempt, now, &mut self.tokens);
        if entry.get().is_idle() {
            entry.remove();
        }
        answer
    }

    pub(super) fn renew(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        let now = self.at(now);
        self.visit(&claim.key, RenewAnswer::Gone, |e| e.renew(claim, now))
    }

    pub(super) fn release_after(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        let now = self.at(now);
        self.visit(&claim.key, RenewAnswer::Gone, |e| {
            e.release_after(claim, now)
        })
    }

    pub(super) fn downgrade(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        let now = self.at(now);
        self.visit(&claim.key, RenewAnswer::Gone, |e| e.downgrade(claim, now))
    }

    pub(super) fn hand_over(
        &mut self,
        claim: &Claim,
        secret: HandoverSecret,
        now: Instant,
    ) -> RenewAnswer {
        let now = self.at(now);
        self.visit(&claim.key, RenewAnswer::Gone, |e| {
            e.hand_over(claim, secret, now)
        })
    }

    pub(super) fn release(&mut self, claim: &Claim, now: Instant) -> ReleaseAnswer {
        let now = self.at(now);
        self.visit(&claim.key, ReleaseAnswer::AlreadyGone, |e| {
            e.release(claim, now)
        })
    }

    pub(super) fn record(
        &mut self,
        claim: &Claim,
        outcome: &Outcome,
        now: Instant,
        until: Instant,
    ) -> ReleaseAnswer {
        let now = self.at(now);
        self.visit(&claim.key, ReleaseAnswer::AlreadyGone, |e| {
            e.record(claim, outcome, now, until)
        })
    }

    pub(super) fn forget(&mut self, key: &Key, now: Instant) -> bool {
        let now = self.at(now);
        self.visit(key, false, |e| e.forget(now))
    }

    pub(super) fn cleanup(&mut self, attempt: &Attempt, now: Instant) {
        let now = self.at(now);
        self.visit(&attempt.key, (), |e| e.cleanup(attempt.owner, now));
    }

    pub(super) fn inspect(&mut self, key: &Key, now: Instant) -> Inspection {
        let now = self.at(now);
        self.visit(key, Inspection::default(), |e| e.inspect(now))
    }

    pub(super) fn force_release(&mut self, key: &Key, now: Instant) -> bool {
        let now = self.at(now);
        self.visit(key, false, |e| e.force_release(now))
    }

    pub(super) fn wake_up(&self, attempt: &Attempt) -> Option<Arc<Notify>> {
        self.entries.get(&attempt.key)?.wake_up(attempt.owner)
    }

    fn visit<T>(&mut self, key: &Key, absent: T, visit: impl FnOnce(&mut KeyState) -> T) -> T {
        // A clone of the key costs less than a second lookup when its entry is removed.
        let hash_map::Entry::Occupied(mut entry) = self.entries.entry(key.clone()) else {
            return absent;
        };
        let answer = visit(entry.get_mut());
        if entry.get().is_idle() {
            entry.remove();
        }
        answer
    }

    /// Removes entries that only contain expired leases.
    fn sweep(&mut self, now: Instant) {
        self.sweep_limit
            .sweep(&mut self.entries, HashMap::len, |all| {
                all.retain(|_, entry| {
                    entry.settle(now);
                    !entry.is_idle()
                });
            });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn keys_of_dead_holders_do_not_pile_up() {
        let mut world = Store::default();
        let mut now = Instant::now();
        for n in 0..20 * SWEEP_FROM {
            let key = Key::new("", &format!("k{n}")).unwrap();
            let attempt = Attempt::new(key, Duration::from_millis(10), false);
            assert!(matches!(
                world.attempt(&attempt, now),
                Ok(AttemptAnswer::Granted { .. })
            ));
            now += Duration::from_millis(1);
        }
        assert!(world.len() <= SWEEP_FROM, "{} keys", world.len());
    }

    #[test]
    fn who_read_the_clock_early_and_comes_late_hands_on_for_as_long_as_anybody() {
        let (mut world, early) = (Store::default(), Instant::now());
        let key = Key::new("", "k").unwrap();
        let attempt = || Attempt::new(key.clone(), Duration::from_secs(30), true);
        let (first, second, third) = (attempt(), attempt(), attempt());
        let Ok(AttemptAnswer::Granted { token, .. }) = world.attempt(&first, early) else {
            panic!("it is not held");
        };
        let late = early + Duration::from_secs(10);
        for waiting in [&second, &third] {
            let answer = world.attempt(waiting, late);
            assert!(matches!(answer, Ok(AttemptAnswer::Busy { .. })));
        }
        world.release(&first.claim(token), early);
        let answer = world.attempt(&second, late + Duration::from_millis(1));
        assert!(matches!(answer, Ok(AttemptAnswer::Granted { .. })));
    }

    #[test]
    fn a_key_that_is_not_in_use_is_not_in_memory() {
        let (mut world, now) = (Store::default(), Instant::now());
        let key = Key::new("", "k").unwrap();
        let attempt = Attempt::new(key, Duration::from_secs(1), false);
        let Ok(AttemptAnswer::Granted { token, .. }) = world.attempt(&attempt, now) else {
            panic!("it is not held");
        };
        assert_eq!(world.len(), 1);
        let released = world.release(&attempt.claim(token), now);
        assert_eq!((released, world.len()), (ReleaseAnswer::Released, 0));
    }
}
