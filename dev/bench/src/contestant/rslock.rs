use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rslock::{Lock, LockManager};

use super::Contestant;
use crate::BoxError;

/// `rslock` on one server or several, with its default random pauses of up to 200 ms.
#[derive(Clone)]
pub(crate) struct Rslock {
    locks: Arc<LockManager>,
}

impl Rslock {
    pub(super) fn enter(urls: &[String]) -> Self {
        let urls = urls.iter().map(String::as_str).collect();
        let locks = Arc::new(LockManager::new(urls));
        Self { locks }
    }
}

impl Contestant for Rslock {
    type Held = Lock;

    async fn acquire(&self, key: &str) -> Result<Lock, BoxError> {
        let ttl = Duration::from_secs(30);
        Ok(self.locks.acquire_no_guard(key, ttl).await?)
    }

    async fn release(&self, lock: Lock) -> Result<(), BoxError> {
        self.locks.unlock(&lock).await;
        Ok(())
    }
}

impl fmt::Debug for Rslock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rslock").finish_non_exhaustive()
    }
}
