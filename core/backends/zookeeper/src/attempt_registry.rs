//! The attempts of this process. The registry contains an attempt from before its first request until its node is
//! definitely deleted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::node_names::QueueNode;
use super::session::CreatedNode;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::{Attempt, Mode};
use leasehold_core::{AttemptId, FencingToken, Key};

/// The interval at which the reaper retries.
pub(super) const RETRY: Duration = Duration::from_millis(500);

/// All attempts of this process by their ids.
#[derive(Debug, Default)]
pub(super) struct AttemptRegistry {
    entries: Mutex<HashMap<AttemptId, Arc<RegisteredAttempt>>>,
    /// Notified when an entry ends before the reaper's next check.
    pub(super) deadline_changed: Notify,
    /// The time of the reaper's next check. `None` if the reaper waits for a notification or is checking.
    next_check: Mutex<Option<LeaseInstant>>,
}

/// An attempt in one session.
#[derive(Debug)]
pub(super) struct RegisteredAttempt {
    pub(super) owner: AttemptId,
    pub(super) key: Key,
    pub(super) session: u64,
    /// Whether the attempt has its turn in the queue. If not, only the owner of the candidate node has a node, so that
    /// the session of a waiter that does not respond delays no other waiter.
    pub(super) fair: bool,
    pub(super) facts: Mutex<AttemptFacts>,
    /// Notified when another check is worthwhile.
    pub(super) wake_up: Arc<Notify>,
    /// Locked while a request about this entry is in progress, so that the creation of its node ends before the
    /// deletion starts.
    pub(super) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
pub(super) struct AttemptFacts {
    pub(super) mode: Mode,
    pub(super) at: NodeLocation,
    pub(super) token: Option<FencingToken>,
    /// The time at which the entry ends unless the caller renews the entry. While the attempt is leaving, this is the
    /// time of the next retry.
    pub(super) until: LeaseInstant,
    /// The time at which the attempt began to leave.
    pub(super) leaving: Option<LeaseInstant>,
    pub(super) watch: Option<WatchTask>,
}

/// The state of an attempt's node, as known in this process.
#[derive(Debug, Clone)]
pub(super) enum NodeLocation {
    Nowhere,
    /// The client may have sent a request to create the node.
    Unknown,
    There(CreatedNode),
}

/// A watch on the node for which an attempt waits.
#[derive(Debug)]
pub(super) struct WatchTask {
    pub(super) _task: AbortOnDropHandle<()>,
    pub(super) since: LeaseInstant,
    /// Set before the watch wakes the attempt.
    pub(super) has_fired: Arc<AtomicBool>,
    /// [`CreatedNode::is_released`] of the watched node, if this session created that node.
    pub(super) is_released: Option<Arc<AtomicBool>>,
}

impl WatchTask {
    pub(super) fn is_silent(&self) -> bool {
        !self.has_fired.load(Ordering::Acquire)
    }
}

impl AttemptRegistry {
    pub(super) fn get(&self, owner: AttemptId) -> Option<Arc<RegisteredAttempt>> {
        self.entries.lock().get(&owner).cloned()
    }

    /// Returns [`CreatedNode::is_released`] of a node, if this session created the node.
    pub(super) fn release_mark(&self, session: u64, node: &QueueNode) -> Option<Arc<AtomicBool>> {
        let entry = self.get(node.owner?)?;
        let facts = entry.facts.lock();
        match &facts.at {
            NodeLocation::There(it) if entry.session == session && it.name() == node.name => {
                Some(Arc::clone(&it.is_released))
            }
            _ => None,
        }
    }

    /// Returns the attempt's entry in this session. An entry of an earlier session ended with that session.
    pub(super) fn enter(
        &self,
        attempt: &Attempt,
        session: u64,
        until: LeaseInstant,
    ) -> Arc<RegisteredAttempt> {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(&attempt.owner)
            && entry.session == session
        {
            return Arc::clone(entry);
        }
        let entry = Arc::new(RegisteredAttempt {
            owner: attempt.owner,
            key: attempt.key.clone(),
            session,
            fair: attempt.fair,
            facts: Mutex::new(AttemptFacts {
                mode: attempt.mode,
                at: NodeLocation::Nowhere,
                token: None,
                until,
                leaving: None,
                watch: None,
            }),
            wake_up: Arc::default(),
            turn: tokio::sync::Mutex::default(),
        });
        entries.insert(attempt.owner, Arc::clone(&entry));
        drop(entries);
        self.ends_at(until);
        entry
    }

    /// Notifies the reaper if an entry now ends before the reaper's next check. A notification changes threads, which
    /// delays the requests.
    pub(super) fn ends_at(&self, until: LeaseInstant) {
        if self.next_check.lock().is_none_or(|next| until < next) {
            self.deadline_changed.notify_one();
        }
    }

    /// Removes an entry. The caller ensures that its node is definitely deleted, or never existed. Duplicate requests
    /// that still refer to the entry are refused, because the registry would not know their node.
    pub(super) fn forget(&self, gone: &Arc<RegisteredAttempt>) {
        let mut facts = gone.facts.lock();
        facts.leaving.get_or_insert_with(LeaseInstant::now);
        drop(facts);
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(&gone.owner)
            && Arc::ptr_eq(entry, gone)
        {
            entries.remove(&gone.owner);
        }
    }

    /// Returns the entries that are due, and the time of the next check. A check follows each [`RETRY`], so that few
    /// new entries end before the next check.
    pub(super) fn due(&self) -> (Vec<Arc<RegisteredAttempt>>, Option<LeaseInstant>) {
        *self.next_check.lock() = None;
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        let latest = LeaseInstant::now().after(RETRY);
        let (mut due, mut next) = (Vec::new(), None::<LeaseInstant>);
        for entry in entries {
            let until = entry.facts.lock().until;
            if until.has_passed() {
                due.push(entry);
            } else {
                next = Some(next.unwrap_or(latest).min(until));
            }
        }
        *self.next_check.lock() = next;
        (due, next)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// A duplicate request may still refer to a forgotten entry.
    #[tokio::test(start_paused = true)]
    async fn a_forgotten_entry_is_marked_as_leaving() {
        let registry = AttemptRegistry::default();
        let attempt = Attempt::new(Key::new("", "k").unwrap(), RETRY, true);
        let entry = registry.enter(&attempt, 1, LeaseInstant::now().after(RETRY));
        assert!(entry.facts.lock().leaving.is_none());
        registry.forget(&entry);
        assert!(entry.facts.lock().leaving.is_some());
        let another = registry.enter(&attempt, 1, LeaseInstant::now().after(RETRY));
        assert!(another.facts.lock().leaving.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_reaper_is_notified_only_of_an_entry_that_ends_before_its_next_check() {
        let registry = AttemptRegistry::default();
        let notifies = |pause: Duration| {
            let key = Key::new("", "k").unwrap();
            let attempt = Attempt::new(key, Duration::from_secs(60), true);
            registry.enter(&attempt, 1, LeaseInstant::now().after(pause));
            let notified = registry.deadline_changed.notified().now_or_never();
            notified.is_some()
        };
        let (early, late) = (RETRY / 2, RETRY * 2);
        assert_eq!(registry.due().1, None);
        assert!(notifies(late), "the reaper waits for the first entry");
        assert_eq!(registry.due().1, Some(LeaseInstant::now().after(RETRY)));
        assert!(!notifies(late), "the next check finds it in time");
        assert!(notifies(early));
        assert_eq!(registry.due().1, Some(LeaseInstant::now().after(early)));
    }
}
