//! The attempts of this process, each from before its first request until its node is known to be
//! deleted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::session::CreatedNode;
use crate::backend::{Attempt, Mode};
use crate::clock::LeaseInstant;
use crate::{FencingToken, Key, OwnerId};

/// Attempts by their ids.
#[derive(Debug, Default)]
pub(super) struct AttemptRegistry {
    entries: Mutex<HashMap<OwnerId, Arc<RegisteredAttempt>>>,
    /// An entry ends sooner than was known.
    pub(super) deadline_changed: Notify,
}

/// An attempt in one session.
#[derive(Debug)]
pub(super) struct RegisteredAttempt {
    pub(super) owner: OwnerId,
    pub(super) key: Key,
    pub(super) session: u64,
    pub(super) facts: Mutex<AttemptFacts>,
    /// Told when another look is worth it.
    pub(super) wake_up: Arc<Notify>,
    /// Held while requests about this entry are under way: what makes its node is over before what deletes it.
    pub(super) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
pub(super) struct AttemptFacts {
    pub(super) mode: Mode,
    pub(super) at: NodeLocation,
    pub(super) token: Option<FencingToken>,
    /// When it ends by itself, unless it is renewed; when to try again, if it is leaving.
    pub(super) until: LeaseInstant,
    /// Since when it is to go.
    pub(super) leaving: Option<LeaseInstant>,
    pub(super) watch: Option<WatchTask>,
}

/// What is known of an attempt's node.
#[derive(Debug, Clone)]
pub(super) enum NodeLocation {
    Nowhere,
    /// A request to make it may have been sent.
    Unknown,
    There(CreatedNode),
}

/// A watch on what an attempt waits for.
#[derive(Debug)]
pub(super) struct WatchTask {
    pub(super) _task: AbortOnDropHandle<()>,
    pub(super) since: LeaseInstant,
    /// Set before the attempt is woken.
    pub(super) has_told: Arc<AtomicBool>,
}

impl WatchTask {
    pub(super) fn is_silent(&self) -> bool {
        !self.has_told.load(Ordering::Acquire)
    }
}

impl AttemptRegistry {
    pub(super) fn get(&self, owner: OwnerId) -> Option<Arc<RegisteredAttempt>> {
        self.entries.lock().get(&owner).cloned()
    }

    /// The attempt's entry in this session. One of a session before went with it.
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
        self.deadline_changed.notify_one();
        entry
    }

    /// Forgets an entry whose node is surely gone, or that never had one.
    pub(super) fn forget(&self, gone: &Arc<RegisteredAttempt>) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(&gone.owner)
            && Arc::ptr_eq(entry, gone)
        {
            entries.remove(&gone.owner);
        }
    }

    /// Those whose time has come, and when that of the next comes.
    pub(super) fn due(&self) -> (Vec<Arc<RegisteredAttempt>>, Option<LeaseInstant>) {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        let (mut due, mut next) = (Vec::new(), None::<LeaseInstant>);
        for entry in entries {
            let until = entry.facts.lock().until;
            if until.has_passed() {
                due.push(entry);
            } else {
                next = Some(next.map_or(until, |n| n.min(until)));
            }
        }
        (due, next)
    }
}
