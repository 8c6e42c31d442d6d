//! Limits the number of watches, because one request must restore all of them after a reconnect.
//!
//! # Implementation details
//!
//! After a broken connection, the client restores all watches in requests of 128 KiB. The client's crate, at least up
//! to 0.11, mistakes the replies to two such requests for one. The client never completes the second request, and its
//! session ends with all locks. So this module limits the number of watches to the capacity of one request. Waiters
//! without a watch poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zookeeper_client::OneshotWatcher;

use leasehold_core::backend::support::clock::{self, LeaseInstant};

/// The maximum total length of watched paths, in bytes. This is less than the capacity of one request, because each
/// path has some overhead.
const MAX_BYTES: usize = 96 * 1024;

/// The interval at which a waiter without a watch polls.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The watches of one session.
#[derive(Debug)]
pub(super) struct WatchBudget {
    used: Arc<AtomicUsize>,
    /// The length of the prefix of every path.
    folder_bytes: usize,
    /// Cancelled when the session has ended, because watches do not fire then.
    over: CancellationToken,
}

/// A reservation for one watch.
#[derive(Debug)]
pub(super) struct WatchPermit {
    used: Arc<AtomicUsize>,
    bytes: usize,
    over: CancellationToken,
}

/// Fires once when the watched node has changed, or may have changed.
#[derive(Debug)]
pub(super) struct BudgetedWatch(Option<(OneshotWatcher, WatchPermit)>);

impl WatchBudget {
    pub(super) fn within(folder: &str, over: CancellationToken) -> Self {
        Self {
            used: Arc::default(),
            folder_bytes: folder.len(),
            over,
        }
    }

    /// Reserves space for a watch on a path, if enough space is left.
    pub(super) fn reserve(&self, path: &str) -> Option<WatchPermit> {
        let bytes = self.folder_bytes + path.len();
        let before = self.used.fetch_add(bytes, Ordering::AcqRel);
        let permit = WatchPermit {
            used: Arc::clone(&self.used),
            bytes,
            over: self.over.clone(),
        };
        (before + bytes <= MAX_BYTES).then_some(permit)
    }
}

impl Drop for WatchPermit {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

impl BudgetedWatch {
    pub(super) fn by(watcher: OneshotWatcher, permit: WatchPermit) -> Self {
        Self(Some((watcher, permit)))
    }

    pub(super) fn unacknowledged() -> Self {
        Self(None)
    }

    pub(super) async fn changed(self) {
        match self.0 {
            Some((watcher, permit)) => tokio::select! {
                biased;
                () = permit.over.cancelled() => {}
                _event = watcher.changed() => {}
            },
            None => clock::sleep_until(LeaseInstant::now().after(LOOK_EVERY)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_ended_frees_its_part_of_the_budget() {
        let (watches, path) = (
            WatchBudget::within("/locks", CancellationToken::new()),
            "x".repeat(MAX_BYTES / 2 - 6),
        );
        let permits = [watches.reserve(&path), watches.reserve(&path)];
        assert!(permits.iter().all(Option::is_some));
        assert!(watches.reserve("").is_none(), "the folder counts, too");
        drop(permits);
        assert!(watches.reserve(&path).is_some());
    }
}
