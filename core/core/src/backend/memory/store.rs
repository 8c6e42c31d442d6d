//! All keys of the in-process backend, protected by one mutex.

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::fencing_tokens::Tokens;
use crate::backend::key_state::{self, Timing};
use crate::backend::{
    Attempt, AttemptAnswer, BackendError, Claim, HandoverSecret, Inspection, Outcome,
    ReleaseAnswer, RenewAnswer,
};
use crate::map_sweep_limit::SweepLimit;
use crate::{AttemptId, Key};

/// The smallest number of keys at which the store searches for expired leases.
const SWEEP_FROM: usize = 1024;

type WakeUp = Arc<Notify>;
type KeyState = key_state::KeyState<WakeUp>;
type Step<'a> = key_state::Step<'a, WakeUp>;

/// All keys of one backend. Only keys in use are in memory.
#[derive(Debug, Default)]
pub(super) struct Store {
    entries: HashMap<Key, KeyState>,
    tokens: Tokens,
    sweep_limit: SweepLimit<SWEEP_FROM>,
    clock: Clock,
}

/// The time since the first operation.
#[derive(Debug, Default)]
struct Clock {
    start: Option<Instant>,
    /// The latest time that a caller has passed. Some callers read the clock before they lock the mutex, so times can
    /// arrive out of order.
    latest: Duration,
}

impl Clock {
    /// Returns a time that never decreases.
    fn at(&mut self, now: Instant) -> Duration {
        let start = *self.start.get_or_insert(now);
        self.latest = self.latest.max(now.saturating_duration_since(start));
        self.latest
    }
}

impl Store {
    #[cfg(feature = "test-util")]
    pub(super) fn reproducible() -> Self {
        Self {
            tokens: Tokens::numbered(),
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn attempt(
        &mut self,
        attempt: &Attempt,
        now: Instant,
    ) -> Result<AttemptAnswer, BackendError> {
        let now = self.clock.at(now);
        self.sweep(now);
        let mut entry = match self.entries.entry(attempt.key.clone()) {
            hash_map::Entry::Occupied(entry) => entry,
            hash_map::Entry::Vacant(place) => place.insert_entry(KeyState::default()),
        };
        let tokens = &mut self.tokens;
        let answer = at(now, |step| {
            entry.get_mut().attempt(attempt, || tokens.draw(now), step)
        });
        if entry.get().is_idle() {
            entry.remove();
        }
        answer
    }

    pub(super) fn renew(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        self.visit(&claim.key, now, RenewAnswer::Gone, |key, step| {
            key.renew(claim, step)
        })
    }

    pub(super) fn release_after(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        self.visit(&claim.key, now, RenewAnswer::Gone, |key, step| {
            key.release_after(claim, step)
        })
    }

    pub(super) fn downgrade(&mut self, claim: &Claim, now: Instant) -> RenewAnswer {
        self.visit(&claim.key, now, RenewAnswer::Gone, |key, step| {
            key.downgrade(claim, step)
        })
    }

    pub(super) fn hand_over(
        &mut self,
        claim: &Claim,
        secret: HandoverSecret,
        now: Instant,
    ) -> RenewAnswer {
        self.visit(&claim.key, now, RenewAnswer::Gone, |key, step| {
            key.hand_over(claim, secret, step)
        })
    }

    pub(super) fn release(&mut self, claim: &Claim, now: Instant) -> ReleaseAnswer {
        self.visit(&claim.key, now, ReleaseAnswer::AlreadyGone, |key, step| {
            key.release(claim, step)
        })
    }

    pub(super) fn record(
        &mut self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
        now: Instant,
    ) -> ReleaseAnswer {
        self.visit(&claim.key, now, ReleaseAnswer::AlreadyGone, |key, step| {
            key.record(claim, outcome, keep, step)
        })
    }

    pub(super) fn forget(&mut self, key: &Key, now: Instant) -> bool {
        self.visit(key, now, false, KeyState::forget)
    }

    pub(super) fn cleanup(&mut self, attempt: &Attempt, now: Instant) {
        self.visit(&attempt.key, now, (), |key, step| {
            key.cleanup(attempt.owner, step);
        });
    }

    pub(super) fn inspect(&mut self, key: &Key, now: Instant) -> Inspection {
        self.visit(key, now, Inspection::default(), KeyState::inspect)
    }

    pub(super) fn force_release(&mut self, key: &Key, now: Instant) -> bool {
        self.visit(key, now, false, KeyState::force_release)
    }

    pub(super) fn force_release_holder(&mut self, key: &Key, id: &str, now: Instant) -> bool {
        self.visit(key, now, false, |key, step| {
            key.force_release_holder(id, step)
        })
    }

    /// Returns the keys in use that begin with `prefix`.
    pub(super) fn keys(&self, prefix: &str) -> Vec<Key> {
        let keys = self.entries.keys();
        keys.filter(|key| key.full().starts_with(prefix))
            .cloned()
            .collect()
    }

    pub(super) fn wake_up(&self, attempt: &Attempt) -> Option<WakeUp> {
        let wake_up = self.entries.get(&attempt.key)?.waiter(attempt.owner);
        wake_up.map(Arc::clone)
    }

    fn visit<T>(
        &mut self,
        key: &Key,
        now: Instant,
        absent: T,
        visit: impl FnOnce(&mut KeyState, &mut Step<'_>) -> T,
    ) -> T {
        let now = self.clock.at(now);
        // A clone of the key costs less than a second lookup when its entry is removed.
        let hash_map::Entry::Occupied(mut entry) = self.entries.entry(key.clone()) else {
            return absent;
        };
        let answer = at(now, |step| visit(entry.get_mut(), step));
        if entry.get().is_idle() {
            entry.remove();
        }
        answer
    }

    /// Removes entries that only contain expired leases.
    fn sweep(&mut self, now: Duration) {
        self.sweep_limit
            .sweep(&mut self.entries, HashMap::len, |all| {
                all.retain(|_, entry| {
                    at(now, |step| entry.settle(step));
                    !entry.is_idle()
                });
            });
    }
}

/// Runs a step that notifies waiters immediately, because the caller holds the mutex of the store.
fn at<T>(now: Duration, run: impl FnOnce(&mut Step<'_>) -> T) -> T {
    let mut notify = |_owner: AttemptId, wake_up: &WakeUp| wake_up.notify_one();
    run(&mut Step::new(now, Timing::new(), &mut notify))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_expired_leases_do_not_accumulate() {
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
    fn a_release_with_an_old_clock_reading_hands_off_for_the_full_time() {
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
    fn a_released_key_is_removed_from_memory() {
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
