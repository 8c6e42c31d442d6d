//! Releases that a node has not confirmed yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::asked_nodes::Round;
use crate::time_limits::WAITER_LEASE;
use leasehold_core::backend::support::SweepLimit;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::{AttemptId, Key};

/// The smallest number of pending releases at which the client removes expired releases.
const SWEPT_FROM: usize = 64;

/// A release that a node has not confirmed.
#[derive(Debug, Clone)]
pub(super) struct PendingNodeRelease {
    pub(super) key: Key,
    pub(super) round: Arc<Round>,
    /// The waiter that leaves the queue with this release; `None` if the release ends only the round.
    pub(super) waiter: Option<AttemptId>,
    /// The time at which all possible effects of the round on the node have expired.
    pub(super) until: LeaseInstant,
}

impl PendingNodeRelease {
    /// Creates the release of a round. With a `waiter`, the release also ends the waiter's position.
    pub(super) fn new(
        key: &Key,
        round: &Arc<Round>,
        waiter: Option<AttemptId>,
        max_ttl: Duration,
    ) -> Self {
        // The node may execute a request until one `max_ttl` after the client sent the request. The lease begins then.
        let lasts = match waiter {
            Some(_) => max_ttl.max(WAITER_LEASE),
            None => max_ttl,
        };
        Self {
            key: key.clone(),
            round: Arc::clone(round),
            waiter,
            // Clocks may run at different rates.
            until: LeaseInstant::now().after((max_ttl + lasts).mul_f64(1.01)),
        }
    }

    fn name(&self) -> (AttemptId, Option<AttemptId>) {
        (self.round.id, self.waiter)
    }
}

/// The pending releases of a node, without duplicates.
#[derive(Debug, Default)]
pub(super) struct NodeReleaseBacklog(Mutex<NodeReleases>);

#[derive(Debug, Default)]
struct NodeReleases {
    pending_releases: BTreeMap<(AttemptId, Option<AttemptId>), PendingNodeRelease>,
    sweep_limit: SweepLimit<SWEPT_FROM>,
}

impl NodeReleaseBacklog {
    pub(super) fn push_pending(&self, pending: PendingNodeRelease) {
        let mut book = self.0.lock();
        book.pending_releases.insert(pending.name(), pending);
        let NodeReleases {
            pending_releases,
            sweep_limit,
        } = &mut *book;
        sweep_limit.sweep(pending_releases, BTreeMap::len, |all| {
            let now = LeaseInstant::now();
            all.retain(|_, it| it.until > now);
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().pending_releases.is_empty()
    }

    /// Returns a release that is still needed, if any.
    pub(super) fn next(&self) -> Option<PendingNodeRelease> {
        let mut book = self.0.lock();
        while let Some((_, pending)) = book.pending_releases.pop_first() {
            if !pending.until.has_passed() {
                book.pending_releases
                    .insert(pending.name(), pending.clone());
                return Some(pending);
            }
        }
        None
    }

    pub(super) fn confirm(&self, release: &PendingNodeRelease) {
        self.0.lock().pending_releases.remove(&release.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pending_release_is_kept_until_it_is_confirmed_or_expired() {
        let backlog = NodeReleaseBacklog::default();
        let push_pending = |seconds| {
            let pending = PendingNodeRelease {
                key: Key::new("", "k").unwrap(),
                round: Arc::new(Round::unknown(AttemptId::random(), 3)),
                waiter: None,
                until: LeaseInstant::now().after(Duration::from_secs(seconds)),
            };
            backlog.push_pending(pending.clone());
            pending
        };
        assert!(backlog.is_empty());
        let lasting = push_pending(60 * 60 * 24);
        assert!(!backlog.is_empty());
        for _ in 0..10 * SWEPT_FROM {
            push_pending(1);
            tokio::time::advance(Duration::from_secs(2)).await;
        }
        let kept = backlog.0.lock().pending_releases.len();
        assert!(kept <= SWEPT_FROM, "{kept} releases");
        let next = backlog.next().unwrap();
        assert_eq!(next.name(), lasting.name());
        assert!(!backlog.is_empty());
        backlog.confirm(&next);
        assert!(backlog.next().is_none() && backlog.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pending_release_is_kept_until_a_late_grant_would_expire() {
        let second = Duration::from_secs(1);
        let (key, waiter) = (Key::new("", "k").unwrap(), Some(AttemptId::random()));
        let round = Arc::new(Round::unknown(AttemptId::random(), 3));
        for (max_ttl, waiter, lasts) in [
            (second * 60, None, second * 60),
            (second * 60, waiter, second * 60),
            (second * 2, None, second * 2),
            (second * 2, waiter, WAITER_LEASE),
        ] {
            let backlog = NodeReleaseBacklog::default();
            backlog.push_pending(PendingNodeRelease::new(&key, &round, waiter, max_ttl));
            // The request arrived just before its expiry.
            tokio::time::advance(max_ttl + lasts).await;
            assert!(backlog.next().is_some(), "{max_ttl:?} {waiter:?}");
            tokio::time::advance(second * 2).await;
            assert!(backlog.next().is_none() && backlog.is_empty());
        }
    }
}
