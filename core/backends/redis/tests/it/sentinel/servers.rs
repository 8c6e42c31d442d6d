use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::{Redis, RedisBuilder};
use leasehold_testkit::servers::{ReplicatedRedis, SentinelRedis};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// Much longer than any step of these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Servers that all tests share. No test may break them. Their proxies run in a runtime that outlives the tests.
pub(crate) static UNBROKEN: LazyLock<SentinelRedis> = LazyLock::new(|| {
    let start = || {
        let runtime = Box::leak(Box::new(Runtime::new().unwrap()));
        runtime.block_on(SentinelRedis::start()).unwrap()
    };
    thread::spawn(start).join().unwrap()
});

pub(crate) fn url(redis: &SentinelRedis) -> String {
    format!("redis+sentinel://{}/{}", redis.hosts(), redis.name())
}

/// Returns a manager whose acquires outlast a failover, also a slow one.
pub(crate) async fn locks(redis: &SentinelRedis) -> LockManager {
    let locks = LockManager::builder().backend_retry_timeout(PATIENCE);
    locks.connect(&url(redis)).await.unwrap()
}

/// Returns a manager that connects only to the primary.
pub(crate) async fn at_primary(pair: &ReplicatedRedis, options: RedisBuilder) -> LockManager {
    let redis = options.connect(&pair.primary().url()).await.unwrap();
    // Longer than each wait for a replica.
    let locks = LockManager::builder().command_timeout(Duration::from_secs(20));
    locks.build(redis).unwrap()
}

pub(crate) fn plain() -> RedisBuilder {
    Redis::builder()
}

pub(crate) fn synced(within: Duration) -> RedisBuilder {
    Redis::builder().synced(1, within)
}

/// Waits until the replica has all writes of the primary.
pub(crate) async fn replicated(pair: &ReplicatedRedis) {
    let mut primary = pair.primary().client().await.unwrap();
    primary.command(["SET", "last", "1"]).await.unwrap();
    let there = primary.command(["WAIT", "1", "5000"]).await.unwrap();
    assert_eq!(there.int(), Some(1));
}

/// Returns when `count` waiters wait for the key `k`.
pub(crate) async fn waiters(locks: &LockManager, count: usize) {
    eventually(&format!("{count} wait"), async || {
        let seen = locks.inspect("k").await;
        seen.is_ok_and(|seen| seen.waiting == count)
    })
    .await;
}

pub(crate) async fn eventually(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let look = async {
        while !so().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(PATIENCE, look).await.is_ok(), "{what}");
}

pub(crate) async fn soon<T>(task: impl Future<Output = T>) -> T {
    timeout(PATIENCE, task)
        .await
        .expect("it should not take so long")
}

/// Returns the message with all its causes.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
