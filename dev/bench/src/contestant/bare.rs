use redis::Script;
use redis::aio::MultiplexedConnection;
use uuid::Uuid;

use super::{Contestant, Notifications};
use crate::BoxError;

/// The simplest lock: `SET NX PX`, and a script that compares and deletes. It does not have tokens, renewal or a queue.
#[derive(Debug, Clone)]
pub(crate) struct Bare {
    pub(super) connection: MultiplexedConnection,
    release: Script,
}

/// A key and its owner.
#[derive(Debug)]
pub(crate) struct Held {
    pub(super) key: String,
    pub(super) owner: String,
}

impl Held {
    pub(super) fn of(key: String) -> Self {
        let owner = Uuid::new_v4().to_string();
        Self { key, owner }
    }
}

const RELEASE: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0";

impl Bare {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        Ok(Self {
            connection: super::connection(url, &Notifications::default()).await?,
            release: Script::new(RELEASE),
        })
    }
}

impl Contestant for Bare {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        let held = Held::of(key.to_owned());
        let mut connection = self.connection.clone();
        let mut set = redis::cmd("SET");
        set.arg(key).arg(&held.owner);
        set.arg("NX").arg("PX").arg(30_000);
        if set.query_async(&mut connection).await? {
            Ok(held)
        } else {
            Err("the key is not free, and this way does not wait".into())
        }
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        let mut connection = self.connection.clone();
        let mut release = self.release.prepare_invoke();
        let release = release.key(held.key).arg(held.owner);
        let released: i64 = release.invoke_async(&mut connection).await?;
        match released {
            1 => Ok(()),
            _ => Err("the lock was lost".into()),
        }
    }
}
