//! Requests that are sent in one batch, because many other requests are in flight.

use std::time::Duration;

use futures_util::future::{join, join_all};
use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, Backend};
use leasehold::{Key, LockManager};
use tokio::task::unconstrained;

/// The number of requests that are sent alone.
pub(crate) const ALONE: usize = 8;

/// After this number of requests the next 31 are sent in one batch. Eight are sent alone, and then 7, 14 and 28 in
/// batches. A batch is sent as soon as it is half of all requests.
const CROWD: usize = 57;
pub(crate) const CALLS_OF_A_CROWD: u64 = 11;

pub(crate) fn nobody() -> Attempt {
    let key = Key::new("lock:", "nobody").unwrap();
    Attempt::new(key, Duration::from_secs(30), false)
}

/// Sends the requests of `all` in one batch, if they are at most 31 and each is made at the first poll.
pub(crate) async fn beside_a_crowd<T>(backend: &Redis, all: impl Future<Output = T>) -> T {
    let crowd = (0..CROWD).map(async |_| backend.cleanup(&nobody()).await.unwrap());
    // All requests are made at the first poll. `unconstrained` disables tokio's limit for a task with so many of them.
    unconstrained(join(join_all(crowd), all)).await.1
}

/// Like [`beside_a_crowd`], with the locks `crowd0` and so on.
pub(crate) async fn beside_locks<T>(locks: &LockManager, all: impl Future<Output = T>) -> T {
    let crowd = (0..CROWD).map(async |number| {
        let guard = locks.lock(format!("crowd{number}")).acquire().await;
        guard.unwrap().release().await.unwrap();
    });
    unconstrained(join(join_all(crowd), all)).await.1
}
