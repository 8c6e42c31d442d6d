//! A primary fails, and holders and waiters notice it.

use std::time::Duration;

use leasehold::{AdmitError, EndReason, FenceStore, FencingToken, RedisFenceStore};
use leasehold_testkit::servers::SentinelRedis;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::sentinel::servers::{eventually, locks, replicated, soon, url, waiters, whole};

/// Much longer than the failover.
const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_replicated_lock_and_its_waiters_survive_a_failover() {
    let redis = SentinelRedis::start().await.unwrap();
    let (locks, others) = (locks(&redis).await, locks(&redis).await);
    let guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    let mut waiting = JoinSet::new();
    waiting.spawn(others.lock("k").acquire());
    waiting.spawn(locks.lock("k").acquire());
    waiters(&locks, 2).await;
    replicated(redis.servers()).await;
    redis.servers().primary().kill();
    redis.until_failed_over().await.unwrap();
    eventually("the lock is renewed where it is now", async || {
        guard.renew().await.is_ok()
    })
    .await;
    waiters(&others, 2).await;
    assert!(guard.is_valid());
    let released = Instant::now();
    guard.release().await.unwrap();
    while let Some(next) = soon(waiting.join_next()).await {
        drop(next.unwrap().unwrap());
    }
    // The waiters were notified, because the second one polls every eleven seconds.
    assert!(released.elapsed() < Duration::from_secs(9));
}

#[tokio::test]
async fn an_unreplicated_lock_is_reported_as_lost_after_a_failover() {
    let redis = SentinelRedis::start().await.unwrap();
    let locks = locks(&redis).await;
    redis.servers().hold();
    let guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    redis.servers().primary().kill();
    redis.until_failed_over().await.unwrap();
    let lost = soon(guard.ended()).await;
    assert_eq!(lost.reason, EndReason::Gone);
}

#[tokio::test]
async fn unreplicated_waiters_queue_again_after_a_failover() {
    let redis = SentinelRedis::start().await.unwrap();
    let locks = locks(&redis).await;
    let guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    replicated(redis.servers()).await;
    redis.servers().hold();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    redis.servers().primary().kill();
    redis.until_failed_over().await.unwrap();
    waiters(&locks, 1).await;
    guard.release().await.unwrap();
    drop(soon(waiting).await.unwrap().unwrap());
}

#[tokio::test]
async fn clients_follow_a_planned_failover_immediately() {
    let redis = SentinelRedis::start().await.unwrap();
    let locks = locks(&redis).await;
    let guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    replicated(redis.servers()).await;
    let mut sentinel = redis.sentinels()[0].client().await.unwrap();
    let swap = ["SENTINEL", "FAILOVER", redis.name()];
    sentinel.command(swap).await.unwrap();
    redis.until_failed_over().await.unwrap();
    let followed = Instant::now();
    eventually("there are locks to be had", async || {
        locks.lock("other").try_acquire().await.is_ok()
    })
    .await;
    assert!(
        followed.elapsed() < Duration::from_secs(10),
        "{:?}",
        followed.elapsed()
    );
    guard.release().await.unwrap();
    drop(locks);
    let inboxes = ["PUBSUB", "CHANNELS", "leasehold:inbox:*"];
    eventually("nobody listens whose manager is gone", async || {
        let mut primary = redis.servers().primary().client().await.unwrap();
        let listening = primary.command(inboxes).await.unwrap();
        listening.items().is_empty()
    })
    .await;
}

#[tokio::test]
async fn clients_do_not_use_a_demoted_primary_until_it_is_primary_again() {
    let redis = SentinelRedis::start_with_passwords("p", "q").await.unwrap();
    let url = format!(
        "redis+sentinel://:p@{}/{}?sentinel_password=q",
        redis.hosts(),
        redis.name()
    );
    let locks = leasehold::LockManager::connect(&url).await.unwrap();
    drop(locks.lock("k").acquire().await.unwrap());
    // Without a Sentinel no event reports the failover. The connection stays open to a server that accepts no writes.
    for sentinel in &redis.sentinels()[1..] {
        sentinel.pause().unwrap();
    }
    let pair = redis.servers();
    let mut old = pair.primary().client().await.unwrap();
    let mut new = pair.replica().client().await.unwrap();
    new.command(["REPLICAOF", "NO", "ONE"]).await.unwrap();
    let port = pair.replica().port().to_string();
    old.command(["REPLICAOF", "127.0.0.1", &port])
        .await
        .unwrap();
    eventually(
        "it is left, and not taken for a primary again",
        async || {
            let refused = locks.lock("k").try_acquire().await.unwrap_err();
            whole(&refused).contains("report is not a primary")
        },
    )
    .await;
    old.command(["REPLICAOF", "NO", "ONE"]).await.unwrap();
    eventually("there are locks to be had", async || {
        locks.lock("k").try_acquire().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_fence_store_follows_a_failover_and_still_refuses_stale_tokens() {
    let redis = SentinelRedis::start().await.unwrap();
    let fences = RedisFenceStore::connect(&url(&redis)).await.unwrap();
    let token = |number: i64| FencingToken::try_from(number).unwrap();
    fences.admit("r", token(7)).await.unwrap();
    replicated(redis.servers()).await;
    redis.servers().primary().kill();
    redis.until_failed_over().await.unwrap();
    eventually("the newest is admitted again", async || {
        fences.admit("r", token(7)).await.is_ok()
    })
    .await;
    let stale = fences.admit("r", token(6)).await.unwrap_err();
    assert!(matches!(stale, AdmitError::Stale(_)), "{stale}");
    let write = fences.pipeline("r", token(8)).cmd("SET", ["k", "v"]);
    write.execute().await.unwrap();
}
