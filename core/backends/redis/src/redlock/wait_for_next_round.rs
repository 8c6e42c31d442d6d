//! Waits for the time or the notification after which the next round begins.

use std::time::Duration;

use super::Redlock;
use super::majority_count::majority;
use crate::time_limits::{FIRST_LOOKS, REFRESH};
use leasehold_core::backend::support::runtime::timeout;
use leasehold_core::backend::{Attempt, AttemptAnswer};

/// After the first notification, a waiter waits at most this time for the notifications of a majority.
pub(super) const GRACE: Duration = Duration::from_millis(5);

impl Redlock {
    /// Returns the reply to an attempt if another holder has the lock for at most `left`.
    pub(super) fn busy(&self, attempt: &Attempt, left: Duration) -> AttemptAnswer {
        // Redlock does not hand off locks, so the first waiter of each process polls when the lock should be free.
        let retry_after = match self.waiters.is_first(&attempt.key, attempt.owner) {
            true => left.min(FIRST_LOOKS),
            false => REFRESH,
        };
        AttemptAnswer::Busy {
            retry_after: retry_after.mul_f64(1.0 + fastrand::f64() / 4.0),
        }
    }

    /// Waits for the notifications of a majority of nodes, but at most [`GRACE`] after the first notification.
    pub(super) async fn woken(&self, attempt: &Attempt) {
        let Some(wake_ups) = self.waiters.wake_ups(attempt.owner) else {
            return;
        };
        if wake_ups.notifications() == 0 {
            tokio::select! {
                () = wake_ups.next() => {}
                () = wake_ups.promoted(FIRST_LOOKS) => return,
            }
        }
        // An attempt fails until a majority of the nodes has released the lock, so the waiter waits briefly for the
        // notifications of these nodes.
        let others = async {
            while wake_ups.notifications() < majority(self.members.len()) {
                wake_ups.next().await;
            }
        };
        if let Some(others) = timeout(GRACE, others) {
            // Another attempt is worthwhile even if the other notifications were not in time.
            let _in_time = others.await;
        }
    }
}

/// Returns a random pause, so that competing attempts do not send requests at the same moment again. The pause is about
/// as long as a round, and increases with each round without a holder.
pub(super) fn apart(took: Duration, splits: u32) -> Duration {
    let round = took.clamp(Duration::from_micros(200), Duration::from_millis(50));
    let most = round * 2u32.saturating_pow(splits.min(10));
    most.min(FIRST_LOOKS).mul_f64(0.1 + fastrand::f64() * 0.9)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::redlock::quorum_node::QuorumNode;
    use crate::redlock::settings::RedlockSettings;
    use crate::wait::waiter_registry::WaiterRegistry;
    use leasehold_core::{AttemptId, Key};

    /// Returns nodes without requests, and a waiter that expects notifications.
    fn waiting() -> (Redlock, Attempt) {
        let waiters = WaiterRegistry::new();
        let members = QuorumNode::unreachable(5, &waiters);
        let attempt = Attempt::new(Key::new("", "k").unwrap(), Duration::from_secs(30), true);
        waiters.enter(&attempt.key, attempt.owner, None).keep();
        (
            Redlock::of(members, waiters, RedlockSettings::default()),
            attempt,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_majority_wakes_a_waiter_immediately_and_fewer_nodes_after_a_grace() {
        let (redlock, attempt) = waiting();
        let silent = timeout(FIRST_LOOKS, redlock.woken(&attempt)).unwrap();
        assert!(silent.await.is_err());
        for (nodes, after) in [(1, GRACE), (2, GRACE), (3, Duration::ZERO)] {
            redlock.waiters.wake_ups(attempt.owner).unwrap().forget();
            for _ in 0..nodes {
                redlock.waiters.wake_one(attempt.owner);
            }
            let begin = Instant::now();
            redlock.woken(&attempt).await;
            assert_eq!(begin.elapsed(), after, "{nodes} nodes");
        }
    }

    #[tokio::test]
    async fn the_first_waiter_polls_at_the_lease_end_and_others_only_refresh() {
        let (redlock, first) = waiting();
        let mut behind = first.clone();
        behind.owner = AttemptId::random();
        redlock
            .waiters
            .enter(&behind.key, behind.owner, None)
            .keep();
        let soon = FIRST_LOOKS / 2;
        for _ in 0..1000 {
            for (attempt, left, least) in [
                (&first, soon, soon),
                (&first, FIRST_LOOKS * 2, FIRST_LOOKS),
                (&behind, soon, REFRESH),
            ] {
                let AttemptAnswer::Busy { retry_after } = redlock.busy(attempt, left) else {
                    panic!("it is busy");
                };
                assert!(retry_after >= least, "{retry_after:?}");
                assert!(retry_after <= least.mul_f64(1.25), "{retry_after:?}");
            }
        }
    }

    #[test]
    fn competing_attempts_pause_randomly_and_longer_after_each_split() {
        let ms = Duration::from_millis;
        for (took, splits, most) in [
            (ms(10), 1, ms(20)),
            (ms(10), 3, ms(80)),
            (ms(0), 1, Duration::from_micros(400)),
            (ms(500), 1, ms(100)),
            (ms(10), u32::MAX, FIRST_LOOKS),
        ] {
            let pauses = [(); 1000].map(|()| apart(took, splits));
            let (shortest, longest) = (pauses.iter().min(), pauses.iter().max());
            let (shortest, longest) = (*shortest.unwrap(), *longest.unwrap());
            assert!(
                shortest >= most.mul_f64(0.099) && longest <= most,
                "{shortest:?} {longest:?}"
            );
            assert!(
                shortest < most / 2 && longest > most / 2,
                "{shortest:?} {longest:?}"
            );
        }
    }
}
