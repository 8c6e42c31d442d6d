use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind, from_redis_value};
use tokio::sync::Notify;

/// The waiters on a connection, by owner id, and their order for each key.
#[derive(Debug, Clone, Default)]
pub(super) struct Notifications(Arc<Mutex<Waiters>>);

#[derive(Debug, Default)]
struct Waiters {
    by_owner: HashMap<String, Arc<Notification>>,
    lines: HashMap<String, VecDeque<String>>,
}

#[derive(Debug, Default)]
pub(super) struct Notification {
    notify: Notify,
    passed_on: AtomicBool,
}

impl Notification {
    pub(super) async fn rung(&self) {
        self.notify.notified().await;
    }

    /// Returns whether the waiter has got the lock by a direct hand-off.
    pub(super) fn was_passed_on(&self) -> bool {
        self.passed_on.load(Ordering::Acquire)
    }
}

impl Notifications {
    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, key: &str, owner: &str) -> Arc<Notification> {
        let mut waiters = self.waiters();
        let line = waiters.lines.entry(key.to_owned()).or_default();
        line.push_back(owner.to_owned());
        Arc::clone(waiters.by_owner.entry(owner.to_owned()).or_default())
    }

    pub(super) fn leave(&self, key: &str, owner: &str) {
        let mut waiters = self.waiters();
        waiters.by_owner.remove(owner);
        if let Some(line) = waiters.lines.get_mut(key) {
            line.retain(|it| it != owner);
            if line.is_empty() {
                waiters.lines.remove(key);
            }
        }
    }

    /// Returns the waiter that has waited longest for a key.
    pub(super) fn first(&self, key: &str) -> Option<String> {
        self.waiters().lines.get(key)?.front().cloned()
    }

    pub(super) fn pass_on(&self, owner: &str) {
        if let Some(notify) = self.waiters().by_owner.get(owner) {
            notify.passed_on.store(true, Ordering::Release);
            notify.notify.notify_one();
        }
    }
}

impl AsyncPushSender for Notifications {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Message
            && let Some(payload) = push.data.into_iter().nth(1)
            && let Ok(owner) = from_redis_value::<String>(payload)
            && let Some(waiter) = self.waiters().by_owner.get(&owner)
        {
            waiter.notify.notify_one();
        }
        Ok(())
    }
}
