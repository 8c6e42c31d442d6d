use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use redis::Script;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Mutex as Place, OwnedMutexGuard};
use uuid::Uuid;

use super::{Contestant, Notifications};
use crate::BoxError;

/// A contestant with one round trip per grant, which is the minimum for grants with a token. The tasks of a process
/// wait in a local queue. Each one in turn makes the server renew the process's lease and increment the counter. The
/// lock is never released at the server, so this is a limit for one process and not a usable lock.
#[derive(Debug, Clone)]
pub(crate) struct Passing {
    connection: MultiplexedConnection,
    lines: Arc<Mutex<HashMap<String, Arc<Place<()>>>>>,
    owner: String,
    take: Script,
}

const TAKE: &str = "
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('INCR', KEYS[2])";

impl Passing {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        Ok(Self {
            connection: super::connection(url, &Notifications::default()).await?,
            lines: Arc::default(),
            owner: Uuid::new_v4().to_string(),
            take: Script::new(TAKE),
        })
    }

    fn line(&self, key: &str) -> Arc<Place<()>> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lines.entry(key.to_owned()).or_default())
    }
}

impl Contestant for Passing {
    type Held = OwnedMutexGuard<()>;

    async fn acquire(&self, key: &str) -> Result<OwnedMutexGuard<()>, BoxError> {
        let place = self.line(key).lock_owned().await;
        let mut take = self.take.prepare_invoke();
        let take = take.key(key).key(format!("{{{key}}}:count"));
        let take = take.arg(&self.owner).arg(30_000);
        let token: u64 = take.invoke_async(&mut self.connection.clone()).await?;
        match token {
            0 => Err("another process has it, and this way does not wait for one".into()),
            _ => Ok(place),
        }
    }

    async fn release(&self, held: OwnedMutexGuard<()>) -> Result<(), BoxError> {
        drop(held);
        Ok(())
    }
}
