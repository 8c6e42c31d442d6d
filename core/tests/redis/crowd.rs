//! Requests that are sent in one call, for so many others are on their way.

use std::time::Duration;

use futures_util::future::{join, join_all};
use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, Backend};
use leasehold::{Key, LockManager};
use tokio::task::unconstrained;

/// How many are sent alone.
pub(crate) const ALONE: usize = 8;

/// After these the next 23 go together: eight went alone, and then 3, 5, 7, 11 and 16 together, each time as soon as they
/// were a third of all.
const CROWD: usize = 50;
pub(crate) const CALLS_OF_A_CROWD: u64 = 13;

pub(crate) fn nobody() -> Attempt {
    let key = Key::new("lock:", "nobody").unwrap();
    Attempt::new(key, Duration::from_secs(30), false)
}

/// Has all ask in one call, if they are no more than 23 and each asks the first time it is polled.
pub(crate) async fn beside_a_crowd<T>(backend: &Redis, all: impl Future<Output = T>) -> T {
    let crowd = (0..CROWD).map(async |_| backend.cleanup(&nobody()).await.unwrap());
    // All ask the first time they are polled, whatever the runtime thinks of a task that polls so many.
    unconstrained(join(join_all(crowd), all)).await.1
}

/// As [`beside_a_crowd`], with the locks `crowd0` and so on.
pub(crate) async fn beside_locks<T>(locks: &LockManager, all: impl Future<Output = T>) -> T {
    let crowd = (0..CROWD).map(async |number| {
        let guard = locks.lock(format!("crowd{number}")).acquire().await;
        guard.unwrap().release().await.unwrap();
    });
    unconstrained(join(join_all(crowd), all)).await.1
}
