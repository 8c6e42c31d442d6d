//! The clients of a hostile server.

use std::future::Future;
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use tokio::time::timeout;

/// The maximum duration of a call: the command timeout, and time for a busy machine.
const CALL: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(crate) struct Tried {
    pub(crate) connected: u32,
    pub(crate) granted: u32,
    pub(crate) failed: u32,
}

impl Tried {
    pub(crate) const fn is_useful(&self) -> bool {
        self.connected > 0 && self.granted > 0 && self.failed > 0
    }
}

/// Connects, acquires locks of all kinds, and uses all their operations.
pub(crate) async fn try_everything(url: &str, round: u64, tried: &mut Tried) {
    // Connecting to a silent server takes five seconds to fail, which another test covers.
    let Ok(connected) = timeout(Duration::from_millis(100), Redis::connect(url)).await else {
        return;
    };
    let Ok(redis) = connected else {
        tried.failed += 1;
        return;
    };
    tried.connected += 1;
    let builder = LockManager::builder()
        .ttl(Duration::from_millis(60))
        .wait(Duration::from_millis(30))
        .command_timeout(Duration::from_millis(20))
        .backend_retry_timeout(Duration::from_millis(20));
    let locks = builder.build(redis).unwrap();
    for _ in 0..4 {
        let taken = match round % 3 {
            0 => ends(locks.lock("k").acquire()).await.map(Some).ok(),
            1 => ends(locks.lock("k").try_acquire()).await.ok(),
            _ => {
                let read = ends(locks.rw_lock("k").read().acquire()).await;
                let permit = ends(locks.semaphore("k", 3).acquire_many(2)).await;
                tried.granted += u32::from(read.is_ok()) + u32::from(permit.is_ok());
                None
            }
        };
        let Some(Some(guard)) = taken else {
            tried.failed += 1;
            continue;
        };
        tried.granted += 1;
        let _renewed = ends(guard.renew()).await;
        let _inspected = ends(locks.inspect("k")).await;
        let _forced = ends(locks.force_release("k")).await;
        match round % 4 {
            0 => drop(ends(guard.release()).await),
            1 => drop(ends(guard.downgrade()).await),
            2 => drop(ends(guard.hand_over()).await),
            _ => drop(guard),
        }
        drop(ends(locks.lock_all(["a", "b"]).acquire()).await);
    }
    let _shut_down = ends(locks.shutdown()).await;
}

async fn ends<T>(call: impl Future<Output = T>) -> T {
    timeout(CALL, call).await.expect("a call hangs")
}
