//! A master fails, and its replica takes over.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::servers::ClusterRedis;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cluster::servers::{ask, eventually, key_on, locks, soon, url, waiters, whole};

const TTL: Duration = Duration::from_secs(60);

/// Tests both failures: a killed master, and a master that hangs.
#[tokio::test]
async fn a_replicated_lock_and_its_waiters_survive_a_promotion() {
    let cluster = ClusterRedis::start_with_replicas().await.unwrap();
    cluster.watch_closely().await.unwrap();
    for (master, killed) in [(0, true), (1, false)] {
        let (holder, others) = (locks(&cluster).await, locks(&cluster).await);
        let key = &*key_on(&cluster, master).await;
        let guard = holder.lock(key).ttl(TTL).acquire().await.unwrap();
        let mut waiting = JoinSet::new();
        waiting.spawn(others.lock(key).acquire());
        waiting.spawn(holder.lock(key).acquire());
        waiters(&holder, key, 2).await;
        let mut client = cluster.server(master).client().await.unwrap();
        let mark = format!("{{lock:{key}}}");
        client.command(["SET", &mark, "1"]).await.unwrap();
        let there = client.command(["WAIT", "1", "5000"]).await.unwrap();
        assert_eq!(there.int(), Some(1));
        match killed {
            true => cluster.server(master).kill(),
            false => cluster.server(master).pause().unwrap(),
        }
        eventually("its replica is a master", async || {
            let role = ask(&cluster, master + 3, &["ROLE"]).await;
            role.items()[0].text() == Some("master")
        })
        .await;
        eventually("the lock is renewed where it is now", async || {
            guard.renew().await.is_ok()
        })
        .await;
        assert!(guard.is_valid());
        waiters(&others, key, 2).await;
        let released = Instant::now();
        guard.release().await.unwrap();
        while let Some(next) = soon(waiting.join_next()).await {
            drop(next.unwrap().unwrap());
        }
        // The second waiter was notified, because it polls every eleven seconds.
        assert!(
            released.elapsed() < Duration::from_secs(9),
            "{:?}",
            released.elapsed()
        );
    }
}

#[tokio::test]
async fn a_grant_needs_the_acknowledgement_of_its_own_masters_replica() {
    let cluster = ClusterRedis::start_with_replicas().await.unwrap();
    let synced = async |within| {
        let redis = Redis::builder().synced(1, within);
        let locks = LockManager::builder().command_timeout(Duration::from_secs(20));
        locks.build(redis.connect(&url(&cluster)).await.unwrap())
    };
    // For what the replicas acknowledge, on a busy machine, and for what they do not.
    let locks = synced(Duration::from_secs(5)).await.unwrap();
    let hasty = synced(Duration::from_millis(200)).await.unwrap();
    let mut guards = Vec::new();
    for master in 0..3 {
        let key = key_on(&cluster, master).await;
        guards.push(locks.lock(&key).ttl(TTL).acquire().await.unwrap());
    }
    for guard in &guards {
        guard.renew().await.unwrap();
    }
    drop(guards);
    cluster.server(4).kill();
    let key = key_on(&cluster, 1).await;
    let refused = soon(hasty.lock(&key).wait(Duration::from_secs(2)).acquire()).await;
    let said = whole(&refused.unwrap_err());
    assert!(said.contains("0 of 1 replicas"), "{said}");
    let key = key_on(&cluster, 2).await;
    drop(soon(locks.lock(&key).acquire()).await.unwrap());
}
