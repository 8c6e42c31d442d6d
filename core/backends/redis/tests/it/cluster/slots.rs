//! Keys on several nodes.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::servers::ClusterRedis;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::servers::{UNBROKEN, ask, key_on, locks, slot, soon, waiters};

#[tokio::test]
async fn a_lock_and_its_auxiliary_keys_are_on_the_node_of_its_slot() {
    let locks = locks(&UNBROKEN).await;
    for master in 0..3 {
        let key = format!("{}:at home", key_on(&UNBROKEN, master).await);
        let tagged = format!("{{lock:{}}}:x", key_on(&UNBROKEN, master).await);
        for key in [&key, &tagged] {
            let guard = locks.lock(key).acquire().await.unwrap();
            let full = format!("lock:{key}");
            let slot = ask(&UNBROKEN, 0, &["CLUSTER", "KEYSLOT", &full]).await;
            let slot = slot.int().unwrap().to_string();
            let home = UNBROKEN.master_of(slot.parse().unwrap());
            let there = ask(&UNBROKEN, home, &["CLUSTER", "COUNTKEYSINSLOT", &slot]).await;
            // The lock, and the counter of its tokens.
            assert!(there.int().unwrap() >= 2, "{key}");
            guard.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_lock_set_across_nodes_locks_all_keys_or_none() {
    let (here, there) = (locks(&UNBROKEN).await, locks(&UNBROKEN).await);
    let mut keys = Vec::new();
    for master in 0..3 {
        keys.push(format!("{}:together", key_on(&UNBROKEN, master).await));
    }
    let all = here.lock_all(&keys).acquire().await.unwrap();
    for key in &keys {
        assert!(there.lock(key).try_acquire().await.unwrap().is_none());
    }
    all.release().await.unwrap();
    let one = there.lock(&keys[2]).acquire().await.unwrap();
    assert!(here.lock_all(&keys).try_acquire().await.unwrap().is_none());
    for key in &keys[..2] {
        drop(soon(there.lock(key).acquire()).await.unwrap());
    }
    let waiting = tokio::spawn(here.lock_all(&keys).acquire());
    waiters(&there, &keys[2], 1).await;
    one.release().await.unwrap();
    drop(soon(waiting).await.unwrap().unwrap());
}

#[tokio::test]
async fn waiters_are_notified_on_every_node() {
    let (here, there) = (locks(&UNBROKEN).await, locks(&UNBROKEN).await);
    for master in 0..3 {
        let key = format!("{{lock:{}}}:woken", key_on(&UNBROKEN, master).await);
        woken(&here, &there, &key).await;
        woken(&there, &here, &key).await;
    }
}

/// The second waiter polls only every eleven seconds, so it must be notified.
async fn woken(holder: &LockManager, waiter: &LockManager, key: &str) {
    let guard = holder.lock(key).acquire().await.unwrap();
    let first = tokio::spawn(waiter.lock(key).acquire());
    waiters(holder, key, 1).await;
    let second = tokio::spawn(waiter.lock(key).acquire());
    waiters(holder, key, 2).await;
    let begin = Instant::now();
    guard.release().await.unwrap();
    for next in [first, second] {
        let next = timeout(Duration::from_secs(9), next).await;
        drop(next.expect("it should be woken").unwrap().unwrap());
    }
    assert!(
        begin.elapsed() < Duration::from_secs(9),
        "{:?}",
        begin.elapsed()
    );
}

/// The given-up subscription is on a connection that other waiters use, too.
#[tokio::test]
async fn a_cancelled_subscription_does_not_stop_other_notifications() {
    let cluster = ClusterRedis::start().await.unwrap();
    let (holder, waiter) = (locks(&cluster).await, locks(&cluster).await);
    let key = key_on(&cluster, 0).await;
    let mut another = key.clone();
    while another == key || cluster.master_of(slot(&cluster, &another).await) != 0 {
        another = fastrand::lowercase().to_string().repeat(2);
    }
    let guard = holder.lock(&key).acquire().await.unwrap();
    let waiting = tokio::spawn(waiter.lock(&key).acquire());
    waiters(&holder, &key, 1).await;
    let channels = async || {
        let channels = ask(&cluster, 0, &["PUBSUB", "SHARDCHANNELS"]).await;
        channels.items().len()
    };
    // The holder has subscribed, too.
    assert_eq!(channels().await, 2);

    cluster.server(0).pause().unwrap();
    let given_up = timeout(Duration::from_millis(300), waiter.lock(another).acquire()).await;
    assert!(given_up.is_err());
    cluster.server(0).resume().unwrap();
    for _ in 0..20 {
        assert!(channels().await >= 2, "the first waiter cannot be told");
        sleep(Duration::from_millis(10)).await;
    }
    guard.release().await.unwrap();
    drop(soon(waiting).await.unwrap().unwrap());
}
