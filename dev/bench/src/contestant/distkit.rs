use std::fmt;

use distkit::DistkitRedisKey;
use distkit::lock::{LockOptions, Mutex, MutexGuard};
use redis::Client;
use redis::aio::ConnectionManager;

use super::Contestant;
use crate::BoxError;

/// `distkit` with its default options: it retries every 50 ms.
#[derive(Clone)]
pub(crate) struct Distkit {
    connection: ConnectionManager,
}

impl Distkit {
    pub(crate) async fn enter(url: &str) -> Result<Self, BoxError> {
        let client = Client::open(url)?;
        let connection = client.get_connection_manager().await?;
        Ok(Self { connection })
    }

    pub(crate) fn options(&self, key: &str) -> Result<LockOptions, BoxError> {
        // Its keys cannot contain colons.
        let key = DistkitRedisKey::try_from(key.replace(':', "."))?;
        Ok(LockOptions::new(key, self.connection.clone()))
    }
}

impl Contestant for Distkit {
    type Held = MutexGuard;

    async fn acquire(&self, key: &str) -> Result<MutexGuard, BoxError> {
        // The owner is an object, and tasks that share an object share the lock. So create a new one.
        Ok(Mutex::new(self.options(key)?).lock().await?)
    }

    async fn release(&self, guard: MutexGuard) -> Result<(), BoxError> {
        guard.release().await?;
        Ok(())
    }
}

impl fmt::Debug for Distkit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distkit").finish_non_exhaustive()
    }
}
