use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind, from_redis_value};
use tokio::sync::Notify;

/// Who waits on a connection, by owner id.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Inbox {
    pub(super) fn enter(&self, owner: &str) -> Arc<Notify> {
        let mut waiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(waiters.entry(owner.to_owned()).or_default())
    }

    pub(super) fn leave(&self, owner: &str) {
        let mut waiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiters.remove(owner);
    }
}

impl AsyncPushSender for Inbox {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        let waiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if push.kind == PushKind::Message
            && let Some(payload) = push.data.into_iter().nth(1)
            && let Ok(owner) = from_redis_value::<String>(payload)
            && let Some(waiter) = waiters.get(&owner)
        {
            waiter.notify_one();
        }
        Ok(())
    }
}
