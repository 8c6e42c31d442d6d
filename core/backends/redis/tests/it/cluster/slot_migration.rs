//! A slot with locks that moves to another node of the cluster.

use std::time::Duration;

use leasehold::Error;
use leasehold::backend::Applied;
use leasehold_testkit::servers::ClusterRedis;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cluster::servers::{ask, eventually, key_on, locks, slot, soon, waiters, whole};

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn locks_and_waiters_move_with_their_slot() {
    let cluster = ClusterRedis::start().await.unwrap();
    let (holder, others) = (locks(&cluster).await, locks(&cluster).await);
    let key = &*key_on(&cluster, 0).await;
    let slot = slot(&cluster, key).await.to_string();
    let guard = holder.lock(key).ttl(TTL).acquire().await.unwrap();
    let mut waiting = JoinSet::new();
    waiting.spawn(others.lock(key).acquire());
    waiting.spawn(holder.lock(key).acquire());
    waiters(&holder, key, 2).await;

    let (from, to) = (cluster.id(0), cluster.id(1));
    ask(
        &cluster,
        1,
        &["CLUSTER", "SETSLOT", &slot, "IMPORTING", from],
    )
    .await;
    ask(&cluster, 0, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", to]).await;
    // Half of the keys are on each node, so neither node can run a script.
    let keys = ask(&cluster, 0, &["CLUSTER", "GETKEYSINSLOT", &slot, "100"]).await;
    let keys: Vec<_> = keys.items().iter().map(|key| key.text().unwrap()).collect();
    assert!(keys.len() >= 4, "{keys:?}");
    let (first, rest) = keys.split_at(keys.len() / 2);
    migrate(&cluster, first).await;
    let refused = others.lock(key).try_acquire().await.unwrap_err();
    assert!(
        whole(&refused).contains("slot is moving"),
        "{}",
        whole(&refused)
    );
    assert!(
        matches!(
            refused,
            Error::Backend {
                applied: Applied::No,
                ..
            }
        ),
        "{refused:?}"
    );
    // A renewal needs only the lock and its counter.
    let is_here = |of: fn(&str) -> bool| rest.iter().any(|it| of(it));
    let (lock, fence) = (
        is_here(|it| !it.contains(":lh1:")),
        is_here(|it| it.ends_with(":lh1:fence")),
    );
    assert_eq!(guard.renew().await.is_ok(), lock && fence);
    migrate(&cluster, rest).await;
    assert!(guard.renew().await.is_err());
    // All keys are on the other node. This node redirects requests there, but scripts also need keys that do not exist.
    let refused = others.lock(key).try_acquire().await.unwrap_err();
    assert!(
        whole(&refused).contains("slot is moving"),
        "{}",
        whole(&refused)
    );
    for member in [1, 0, 2] {
        ask(&cluster, member, &["CLUSTER", "SETSLOT", &slot, "NODE", to]).await;
    }

    eventually("the lock is renewed where it is now", async || {
        guard.renew().await.is_ok()
    })
    .await;
    assert!(guard.is_valid());
    // Clients that were subscribed at the first node are now subscribed at the other one.
    let listening = async || {
        let channels = ask(&cluster, 1, &["PUBSUB", "SHARDCHANNELS"]).await;
        channels.items().len() == 2
    };
    eventually("both listen where the slot is now", listening).await;
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

async fn migrate(cluster: &ClusterRedis, keys: &[&str]) {
    let port = cluster.server(1).port().to_string();
    let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
    words.extend(keys);
    ask(cluster, 0, &words).await;
}
