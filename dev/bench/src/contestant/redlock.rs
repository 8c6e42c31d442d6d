use redlock::{Lock, RedLock};
use tokio::task::spawn_blocking;

use super::Contestant;
use crate::BoxError;

const TTL_MS: usize = 30_000;

/// `redlock` on one server or several, with its default random pauses of up to 200 ms. It blocks its thread and
/// reconnects for every command, so it gets its own threads.
#[derive(Debug, Clone)]
pub(crate) struct Redlock {
    locks: RedLock,
}

/// A key and its owner.
#[derive(Debug)]
pub(crate) struct Held {
    resource: Vec<u8>,
    val: Vec<u8>,
}

impl Redlock {
    pub(super) fn enter(urls: &[String]) -> Self {
        let urls = urls.iter().map(String::as_str).collect();
        let locks = RedLock::new(urls);
        Self { locks }
    }
}

impl Contestant for Redlock {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        let resource = key.as_bytes().to_vec();
        loop {
            let (locks, wanted) = (self.locks.clone(), resource.clone());
            let tried = spawn_blocking(move || {
                let lock = locks.lock(&wanted, TTL_MS)?;
                Ok::<_, BoxError>(lock.map(|lock| lock.val))
            });
            // The crate gives up after three attempts, so try again.
            if let Some(val) = tried.await?? {
                return Ok(Held { resource, val });
            }
        }
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        let locks = self.locks.clone();
        let unlocked = spawn_blocking(move || {
            locks.unlock(&Lock {
                resource: held.resource,
                val: held.val,
                validity_time: TTL_MS,
                lock_manager: &locks,
            });
        });
        Ok(unlocked.await?)
    }
}
