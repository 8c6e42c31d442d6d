//! Limits watches to as many as one request can set again after a reconnect.
//!
//! # Implementation details
//!
//! When its connection was lost, the client asks for all watches again, in requests of 128 KiB. Its crate, up to 0.11
//! at least, takes the answers to two such requests for one: it never gets past the second, and its session comes to
//! an end with all that it holds. So no more is watched than one request can name. Who has no room for a watch looks now and
//! then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zookeeper_client::OneshotWatcher;

use crate::clock::{self, LeaseInstant};

/// How many bytes of paths are watched at most. Less than one request names, for each path has some more.
const MAX_BYTES: usize = 96 * 1024;

/// How often one without a watch looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The watches of one session.
#[derive(Debug)]
pub(super) struct WatchBudget {
    used: Arc<AtomicUsize>,
    /// What stands before every path.
    folder_bytes: usize,
    /// The session is: nobody tells any more.
    over: CancellationToken,
}

/// Room for one watch.
#[derive(Debug)]
pub(super) struct WatchPermit {
    used: Arc<AtomicUsize>,
    bytes: usize,
    over: CancellationToken,
}

/// Tells once when something has changed, or may have.
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

    /// Reserves what a watch on a path takes, if there is as much left.
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
    fn a_watch_that_ended_frees_what_it_had_reserved() {
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
