//! The keys that tasks of this process change or wait for. The tasks of a key share their reads and writes of its row.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use leasehold_core::backend::key_state::Timing;
use leasehold_core::{AttemptId, Key};
use tokio::sync::Notify;
use tokio::time::sleep_until;

use super::poll_schedule::Polls;
use super::shared_row_changes::Change;

/// The smallest number of keys at which unused keys are removed.
const MANY: usize = 64;

/// The time after which a task that has not finished its write counts as stopped.
const STOPPED_AFTER: Duration = Duration::from_millis(250);

/// The beginning of an [`announcement`].
pub(super) const GRANT: &str = "grant:";

/// The keys that this process uses now.
#[derive(Debug, Default)]
pub(super) struct LocalKeys {
    keys: Mutex<Keys>,
}

#[derive(Debug, Default)]
struct Keys {
    keys: HashMap<Key, Weak<LocalKey>>,
    /// The number of keys at which unused keys are removed.
    limit: usize,
}

impl LocalKeys {
    /// Returns the key for a task that changes it or waits for it.
    pub(super) fn enter(&self, key: &Key) -> Arc<LocalKey> {
        let mut keys = lock(&self.keys);
        if let Some(local) = keys.keys.get(key).and_then(Weak::upgrade) {
            return local;
        }
        if keys.keys.len() >= keys.limit.max(MANY) {
            keys.keys.retain(|_, it| it.strong_count() > 0);
            keys.limit = keys.keys.len() * 2;
        }
        let local = Arc::new(LocalKey::new());
        keys.keys.insert(key.clone(), Arc::downgrade(&local));
        local
    }

    /// Schedules a poll for the end of a grant that another process has announced.
    pub(super) fn expect_expiry(&self, announced: &str) {
        let hash = announced.strip_prefix(GRANT);
        let Some(hash) = hash.and_then(|it| u64::from_str_radix(it, 16).ok()) else {
            return;
        };
        let keys = lock(&self.keys);
        let mut keys = keys.keys.iter();
        let Some((_, local)) = keys.find(|(key, _)| hash_of(key) == hash) else {
            return;
        };
        if let Some(local) = local.upgrade() {
            local.polls().expect_expiry(Timing::new().grant);
            local.rescheduled.notify_one();
        }
    }

    /// Returns whether another task changes the key or waits for it.
    pub(super) fn is_used(&self, key: &Key) -> bool {
        let keys = lock(&self.keys);
        keys.keys.get(key).is_some_and(|it| it.strong_count() > 0)
    }
}

/// Returns the notification that a waiter of a key has a grant, while others wait. Other clients of the database can
/// read it, so it contains a hash of the key. A process whose standard library hashes differently polls later.
pub(super) fn announcement(key: &Key) -> String {
    format!("{GRANT}{:016x}", hash_of(key))
}

fn hash_of(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.full().hash(&mut hasher);
    hasher.finish()
}

/// A key that at least one task changes or waits for.
pub(super) struct LocalKey {
    /// The changes that are not written yet, in the order of their arrival.
    changes: Mutex<Vec<Box<dyn Change>>>,
    /// The task that has this mutex writes the changes of all tasks.
    turn: tokio::sync::Mutex<()>,
    /// When a task last began to write.
    last_write: Mutex<Instant>,
    /// The waiters inside of `wait`.
    waiting: Mutex<HashMap<AttemptId, Arc<Notify>>>,
    polls: Mutex<Polls>,
    /// Notifies a waiter that the next poll is earlier.
    rescheduled: Notify,
}

impl LocalKey {
    fn new() -> Self {
        Self {
            changes: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            last_write: Mutex::new(Instant::now()),
            waiting: Mutex::default(),
            polls: Mutex::default(),
            rescheduled: Notify::new(),
        }
    }

    /// Notes that a task begins to write.
    pub(super) fn note_write(&self) {
        *lock(&self.last_write) = Instant::now();
    }

    /// Waits until this task may write. Returns `None` if another task has its turn, but may be stopped.
    pub(super) async fn turn(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        tokio::select! {
            biased;
            turn = self.turn.lock() => Some(turn),
            () = self.stopped() => None,
        }
    }

    /// Waits until no task has begun to write for a while. Then it returns to only one of the tasks that wait, so that
    /// they do not all write concurrently.
    async fn stopped(&self) {
        loop {
            let last = *lock(&self.last_write);
            sleep_until((last + STOPPED_AFTER).into()).await;
            let mut last_write = lock(&self.last_write);
            if *last_write == last {
                *last_write = Instant::now();
                return;
            }
        }
    }

    pub(super) fn push(&self, change: Box<dyn Change>) {
        lock(&self.changes).push(change);
    }

    pub(super) fn take_changes(&self) -> Vec<Box<dyn Change>> {
        mem::take(&mut lock(&self.changes))
    }

    pub(super) fn polls(&self) -> MutexGuard<'_, Polls> {
        lock(&self.polls)
    }

    /// Waits until the next poll is earlier than before. Returns to one of the waiters, which polls for all.
    pub(super) async fn rescheduled(&self) {
        self.rescheduled.notified().await;
    }

    /// Registers a waiter until the returned value is dropped.
    pub(super) fn wait(self: &Arc<Self>, owner: AttemptId, wake_up: Arc<Notify>) -> Waiting {
        lock(&self.waiting).insert(owner, wake_up);
        let key = Arc::clone(self);
        Waiting { key, owner }
    }

    pub(super) fn waiting(&self) -> HashSet<AttemptId> {
        lock(&self.waiting).keys().copied().collect()
    }

    /// Notifies the waiters for which the condition holds.
    pub(super) fn notify_if(&self, condition: impl Fn(&AttemptId) -> bool) {
        let waiting = lock(&self.waiting);
        for (_, wake_up) in waiting.iter().filter(|(owner, _)| condition(owner)) {
            wake_up.notify_one();
        }
    }
}

impl std::fmt::Debug for LocalKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// A registered waiter.
#[derive(Debug)]
pub(super) struct Waiting {
    key: Arc<LocalKey>,
    owner: AttemptId,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        lock(&self.key.waiting).remove(&self.owner);
        // This waiter may be the one that knows of an earlier poll.
        self.key.rescheduled.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
