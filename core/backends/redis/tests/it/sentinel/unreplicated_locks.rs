//! The known limit: a primary dies with a lock that no replica has.

use std::time::Duration;

use leasehold::backend::redis::{Redis, RedisBuilder};
use leasehold::{AdmitError, Error, FenceStore, InProcessFenceStore, LockGuard, LockManager};
use leasehold_testkit::servers::SentinelRedis;

use crate::sentinel::servers::{plain, soon, synced, url, whole};

const TTL: Duration = Duration::from_secs(60);

/// Acquires a lock without renewal, so the holder does not notice a loss.
async fn standing_still(locks: &LockManager) -> Result<LockGuard, Error> {
    let lock = locks.lock("k").ttl(TTL).without_renewal();
    lock.wait(Duration::from_secs(2)).acquire().await
}

async fn connected(redis: &SentinelRedis, options: RedisBuilder) -> LockManager {
    let redis: Redis = options.connect(&url(redis)).await.unwrap();
    // Longer than each wait for a replica.
    let locks = LockManager::builder().command_timeout(Duration::from_secs(20));
    locks.build(redis).unwrap()
}

async fn after_a_failover(redis: &SentinelRedis) -> LockGuard {
    redis.servers().primary().kill();
    redis.until_failed_over().await.unwrap();
    let locks = connected(redis, plain()).await;
    soon(locks.lock("k").ttl(TTL).acquire()).await.unwrap()
}

#[tokio::test]
async fn without_acknowledgements_two_hold_the_lock_and_the_fence_refuses_the_older() {
    let redis = SentinelRedis::start().await.unwrap();
    let fences = InProcessFenceStore::new();
    redis.servers().hold();
    let locks = connected(&redis, plain()).await;
    let first = standing_still(&locks).await.unwrap();
    let second = after_a_failover(&redis).await;
    assert!(first.is_valid() && second.is_valid(), "this is the hole");

    assert!(second.token() > first.token());
    fences.admit("k", second.token()).await.unwrap();
    let late = fences.admit("k", first.token()).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
}

#[tokio::test]
async fn a_planned_failover_permits_two_holders_and_the_fence_refuses_the_older() {
    let redis = SentinelRedis::start().await.unwrap();
    let fences = InProcessFenceStore::new();
    redis.servers().hold();
    let locks = connected(&redis, plain()).await;
    let first = standing_still(&locks).await.unwrap();
    let mut sentinel = redis.sentinels()[0].client().await.unwrap();
    let swap = ["SENTINEL", "FAILOVER", redis.name()];
    sentinel.command(swap).await.unwrap();
    redis.until_failed_over().await.unwrap();
    let second = soon(locks.lock("k").ttl(TTL).acquire()).await.unwrap();
    assert!(first.is_valid() && second.is_valid(), "this is the hole");

    assert!(second.token() > first.token());
    fences.admit("k", second.token()).await.unwrap();
    let late = fences.admit("k", first.token()).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
}

#[tokio::test]
async fn with_acknowledgements_an_unreplicated_lock_is_refused() {
    let redis = SentinelRedis::start().await.unwrap();
    let fences = InProcessFenceStore::new();
    // For what the replica acknowledges, on a busy machine, and for what it does not.
    let locks = connected(&redis, synced(Duration::from_secs(5))).await;
    let hasty = connected(&redis, synced(Duration::from_millis(100))).await;
    let earlier = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    let late_token = earlier.token();
    earlier.release().await.unwrap();
    // The replica has the acknowledged lock and all earlier writes, including the release.
    let other = locks.lock("other").acquire().await.unwrap();
    other.release().await.unwrap();
    redis.servers().hold();
    let refused = standing_still(&hasty).await.unwrap_err();
    let said = whole(&refused);
    assert!(
        said.contains("0 of 1 replicas acknowledged the lock within 100ms"),
        "{said}"
    );
    let only = after_a_failover(&redis).await;

    fences.admit("k", only.token()).await.unwrap();
    let late = fences.admit("k", late_token).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
}
