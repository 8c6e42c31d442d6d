//! What this process has on the servers: an entry per attempt, from before its first request until it is surely gone.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::session::Node;
use crate::backend::{Attempt, Mode};
use crate::clock::Moment;
use crate::{FencingToken, Key, OwnerId};

/// Attempts by their ids.
#[derive(Debug, Default)]
pub(super) struct Desk {
    entries: Mutex<HashMap<OwnerId, Arc<Entry>>>,
    /// An entry ends sooner than was known.
    pub(super) sooner: Notify,
}

/// An attempt in one session.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) owner: OwnerId,
    pub(super) key: Key,
    pub(super) session: u64,
    pub(super) facts: Mutex<Facts>,
    /// Told when another look is worth it.
    pub(super) wake_up: Arc<Notify>,
    /// Held while requests about this entry are under way: what makes its node is over before what deletes it.
    pub(super) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) mode: Mode,
    pub(super) at: Whereabouts,
    pub(super) token: Option<FencingToken>,
    /// When it ends by itself, unless it is renewed; when to try again, if it is leaving.
    pub(super) until: Moment,
    /// Since when it is to go.
    pub(super) leaving: Option<Moment>,
    pub(super) watch: Option<Watch>,
}

/// What is known of an attempt's node.
#[derive(Debug, Clone)]
pub(super) enum Whereabouts {
    Nowhere,
    /// A request to make it may have been sent.
    Unknown,
    There(Node),
}

/// A watch on what an attempt waits for.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) task: JoinHandle<()>,
    pub(super) since: Moment,
    /// Set before the attempt is woken.
    pub(super) has_told: Arc<AtomicBool>,
}

impl Watch {
    pub(super) fn is_silent(&self) -> bool {
        !self.has_told.load(Ordering::Acquire)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    pub(super) fn get(&self, owner: OwnerId) -> Option<Arc<Entry>> {
        self.entries.lock().get(&owner).cloned()
    }

    /// The attempt's entry in this session. One of a session before went with it.
    pub(super) fn enter(&self, attempt: &Attempt, session: u64, until: Moment) -> Arc<Entry> {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(&attempt.owner)
            && entry.session == session
        {
            return Arc::clone(entry);
        }
        let entry = Arc::new(Entry {
            owner: attempt.owner,
            key: attempt.key.clone(),
            session,
            facts: Mutex::new(Facts {
                mode: attempt.mode,
                at: Whereabouts::Nowhere,
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
        self.sooner.notify_one();
        entry
    }

    /// Forgets an entry whose node is surely gone, or that never had one.
    pub(super) fn forget(&self, gone: &Arc<Entry>) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(&gone.owner)
            && Arc::ptr_eq(entry, gone)
        {
            entries.remove(&gone.owner);
        }
    }

    /// Those whose time has come, and when that of the next comes.
    pub(super) fn due(&self) -> (Vec<Arc<Entry>>, Option<Moment>) {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        let (mut due, mut next) = (Vec::new(), None::<Moment>);
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
