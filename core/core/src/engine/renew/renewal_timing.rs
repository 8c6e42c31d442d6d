//! When the watchdog checks a lease, and how long it waits for a reply.
//!
//! # Implementation details
//!
//! A lease is renewed when a third of it has passed, with a little jitter, so that leases that were acquired together
//! drift apart. Leases that are due within 1 % of that time are renewed together, on a common tick. A separate timer
//! and command for each lease would cost more than the renewals. After a failure the next retry follows within a
//! twentieth of the lease, and sooner as the deadline comes closer. One retry may take a sixth of the lease, so that a
//! hanging retry leaves time for further retries.

use std::time::Duration;

use crate::clock::LeaseInstant;
use crate::engine::Lease;
use crate::engine::retry_backoff::with_jitter;
use crate::options::Limits;

const SOONEST_RETRY: Duration = Duration::from_millis(5);
const LATEST_RETRY: Duration = Duration::from_secs(1);

/// The longest distance between two ticks: as a fraction of a lease, and as a duration.
const STROKE: u32 = 300;
const LONGEST_STROKE: Duration = Duration::from_secs(1);

/// The watchdog's action for a lease that is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DueAction {
    Renew,
    LookAgain(LeaseInstant),
    Forget,
}

pub(crate) fn step(lease: &Lease) -> DueAction {
    match lease.validity() {
        Err(_ended) => DueAction::Forget,
        Ok(_) if lease.is_renewed() => DueAction::Renew,
        Ok(left) => DueAction::LookAgain(LeaseInstant::now().after(left)),
    }
}

/// The ticks on which a watchdog renews.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TickAligner {
    begun: LeaseInstant,
}

impl TickAligner {
    pub(crate) fn begin() -> Self {
        Self {
            begun: LeaseInstant::now(),
        }
    }

    /// Returns when to check a lease first. The first check of a lease that is much shorter than its TTL is early, but
    /// not before most contended locks are released.
    pub(crate) fn after_grant(self, lease: &Lease, now: LeaseInstant) -> LeaseInstant {
        let look = self.after_success(lease, now);
        let (length, _) = lease.remaining_validity(now);
        if lease.is_renewed() && length < lease.claim.ttl / 2 {
            return look.min(self.tick_before(now.after(length / 20), length));
        }
        look
    }

    /// Returns when to check a lease that was granted or renewed at `now`. The check is never after the end of the
    /// lease, because the watchdog must also detect the end.
    pub(crate) fn after_success(self, lease: &Lease, now: LeaseInstant) -> LeaseInstant {
        let (length, left) = lease.remaining_validity(now);
        let pause = with_jitter(length / 3);
        // A lease that ends before its next renewal is checked only when it ends, because an earlier check would renew
        // it.
        if lease.is_renewed() && pause < left {
            self.tick_before(now.after(pause), length)
        } else {
            now.after(left)
        }
    }

    /// Returns the last tick that is not after `due`. The ticks for short leases include the ticks for longer leases.
    fn tick_before(self, due: LeaseInstant, length: Duration) -> LeaseInstant {
        let apart = (length / STROKE).min(LONGEST_STROKE);
        let apart = apart.as_nanos().max(1).ilog2();
        let nanos = due.since(self.begun).as_nanos() >> apart << apart;
        let since = u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos);
        self.begun.after(since)
    }
}

/// Returns when to check a lease that could not be renewed. The check is never after the end of the lease, because the
/// watchdog must also detect the end.
pub(crate) fn after_failure(lease: &Lease) -> LeaseInstant {
    let now = LeaseInstant::now();
    let (length, left) = lease.remaining_validity(now);
    let pause = (length / 20).min(LATEST_RETRY).min(left / 4);
    now.after(with_jitter(pause.max(SOONEST_RETRY)).min(left))
}

/// Returns how long the watchdog waits for a reply about these leases.
pub(crate) fn answer_limit<'a>(
    leases: impl IntoIterator<Item = &'a Lease>,
    limits: Limits,
) -> Duration {
    leases
        .into_iter()
        .map(|lease| lease.length() / 6)
        .fold(limits.command, Duration::min)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::{Attempt, Backend, InProcess};
    use crate::options::AcquireOptions;
    use crate::runtime::Runtime;
    use crate::{FencingToken, Key};

    fn lease(ttl: Duration) -> Lease {
        let attempt = Attempt::new(Key::new("", "k").unwrap(), ttl, false);
        let claim = attempt.claim(FencingToken::try_from(1).unwrap());
        let (options, runtime) = (AcquireOptions::default(), Runtime::current().unwrap());
        let backend: Arc<dyn Backend> = Arc::new(InProcess::new());
        Lease::new(&backend, claim, ttl, LeaseInstant::now(), &options, runtime)
    }

    #[tokio::test(start_paused = true)]
    async fn renewals_are_aligned_to_common_ticks_and_never_delayed() {
        let aligner = TickAligner::begin();
        for length in [1, 50, 299, 30_000, 300_000].map(Duration::from_millis) {
            let (mut ticks, mut last) = (0, None);
            for part in 0..10_000 {
                let due = aligner.begun.after(length + length * part / 10_000);
                let tick = aligner.tick_before(due, length);
                assert!(
                    tick <= due && due.since(tick) < length / STROKE,
                    "{length:?}"
                );
                ticks += u32::from(last != Some(tick));
                last = Some(tick);
            }
            assert!(
                (STROKE..=2 * STROKE + 1).contains(&ticks),
                "{length:?}: {ticks}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn leases_of_different_lengths_share_ticks() {
        let aligner = TickAligner::begin();
        let due = |millis| aligner.begun.after(Duration::from_millis(millis));
        let long = aligner.tick_before(due(20_000), Duration::from_secs(60));
        let at = long.since(aligner.begun);
        let short = aligner.tick_before(aligner.begun.after(at), Duration::from_secs(1));
        assert_eq!(short, long);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_granted_shorter_than_its_ttl_is_renewed_earlier() {
        let (aligner, ttl) = (TickAligner::begin(), Duration::from_secs(30));
        for (granted, soonest, latest) in [
            (ttl, ttl / 4, ttl / 3),
            (ttl / 2, ttl / 8, ttl / 6),
            (ttl / 15, ttl / 15 / 25, ttl / 15 / 20),
        ] {
            let lease = lease(ttl);
            lease.extend(LeaseInstant::now(), granted).unwrap();
            let now = LeaseInstant::now();
            let look = aligner.after_grant(&lease, now).since(now);
            assert!(soonest <= look && look <= latest, "{granted:?}: {look:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_tick_for_the_maximum_duration_does_not_overflow() {
        let aligner = TickAligner::begin();
        let never = LeaseInstant::now().after(Duration::MAX);
        assert!(!aligner.tick_before(never, Duration::MAX).has_passed());
    }

    #[tokio::test(start_paused = true)]
    async fn retries_of_a_failed_renewal_are_faster_near_the_deadline() {
        let ms = Duration::from_millis;
        for (ttl, left, whole) in [
            (ms(2_000), ms(1_978), ms(100)),
            (ms(2_000), ms(200), ms(50)),
            (ms(2_000), ms(8), ms(5)),
            (ms(2_000), ms(4), ms(4)),
            (ms(60_000), ms(59_398), ms(1_000)),
        ] {
            let lease = lease(ttl);
            tokio::time::advance(lease.validity().unwrap() - left).await;
            let pause = after_failure(&lease).since(LeaseInstant::now());
            assert!(
                pause <= whole && pause >= whole.mul_f64(0.89),
                "{pause:?} of {whole:?}, {left:?} before the end of {ttl:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_ends_before_its_renewal_is_checked_at_its_end() {
        let (aligner, second) = (TickAligner::begin(), Duration::from_secs(1));
        let mut capped = lease(second * 30);
        let options = AcquireOptions {
            max_hold: Some(second * 2),
            ..AcquireOptions::default()
        };
        capped.settle(&options, LeaseInstant::now());
        let now = LeaseInstant::now();
        assert_eq!(aligner.after_success(&capped, now), now.after(second * 2));
        capped = lease(second * 30);
        let options = AcquireOptions {
            renewal: false,
            ..AcquireOptions::default()
        };
        capped.settle(&options, now);
        let left = capped.validity().unwrap();
        assert_eq!(aligner.after_success(&capped, now), now.after(left));
    }
}
