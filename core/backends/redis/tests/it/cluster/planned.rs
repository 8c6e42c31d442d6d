//! An operator promotes a replica while many clients wait. Releases on the old master during the promotion are missing
//! on the new one.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::servers::ClusterRedis;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::servers::{ask, eventually, key_on, locks};

/// The maximum time without a grant, independent of the TTL and the number of waiters. It is shorter than all TTLs, and
/// than the interval of eleven seconds at which a waiter behind the first one polls.
const AT_MOST: Duration = Duration::from_secs(9);
/// Longer than the lifetime of a position in the queue.
const PATIENCE: Duration = Duration::from_secs(60);
const HOLD: Duration = Duration::from_millis(5);
/// Less than the cluster's timeout for a silent node.
const BEHIND: Duration = Duration::from_millis(200);
const MINUTE: Duration = Duration::from_secs(60);

/// Acquires and releases the key repeatedly.
async fn again_and_again(
    locks: LockManager,
    key: String,
    ttl: Duration,
    tell: mpsc::UnboundedSender<Instant>,
) {
    loop {
        let lock = locks.lock(&key).ttl(ttl).wait(MINUTE);
        if let Ok(guard) = lock.acquire().await {
            let _is_over = tell.send(Instant::now());
            sleep(HOLD).await;
            // The lock may be lost, so ignore the result.
            let _outcome = guard.release().await;
        }
    }
}

/// Makes the replica of the first master take over, although the last writes are missing on it.
async fn take_over(cluster: &ClusterRedis, key: &str) {
    let mut master = cluster.server(0).client().await.unwrap();
    let mut replica = cluster.server(3).client().await.unwrap();
    let (much, long) = (format!("{{lock:{key}}}"), "x".repeat(1 << 20));
    cluster.server(3).pause().unwrap();
    // The replica takes over before it has read all of these writes.
    for _ in 0..4 {
        master.command(["SET", &much, &long]).await.unwrap();
    }
    sleep(BEHIND).await;
    let swap = ["CLUSTER", "FAILOVER", "TAKEOVER"];
    let swapped = async {
        replica.command(swap).await.unwrap();
    };
    let goes_on = async {
        sleep(BEHIND / 4).await;
        cluster.server(3).resume().unwrap();
    };
    tokio::join!(swapped, goes_on);
}

/// Restarts the replica of the first master, waits for the conditions in the docs of `Redis`, and makes the replica
/// take over.
async fn restart_and_fail_over(cluster: &ClusterRedis, _key: &str) {
    cluster.server(3).restart().await.unwrap();
    eventually("the replica follows", async || {
        let told = ask(cluster, 3, &["INFO", "replication"]).await;
        told.text().unwrap().contains("master_link_status:up")
    })
    .await;
    for master in 0..3 {
        eventually("a master is connected to it", async || {
            let told = ask(cluster, master, &["CLUSTER", "NODES"]).await;
            let mut members = told.text().unwrap().lines();
            let replica = members.find(|it| it.starts_with(cluster.id(3)));
            replica.unwrap().ends_with(" connected")
        })
        .await;
    }
    ask(cluster, 3, &["CLUSTER", "FAILOVER"]).await;
}

async fn is(cluster: &ClusterRedis, server: usize, part: &str) -> bool {
    let mut server = cluster.server(server).client().await.unwrap();
    // A node disconnects its clients when it changes its role.
    let role = server.command(["ROLE"]).await;
    role.is_ok_and(|role| role.items()[0].text() == Some(part))
}

/// Checks that the lock is never free for long.
async fn holds_up_nobody(
    managers: usize,
    tasks: usize,
    ttl: Duration,
    swap: impl AsyncFnOnce(&ClusterRedis, &str),
) {
    let cluster = ClusterRedis::start_with_replicas().await.unwrap();
    let key = key_on(&cluster, 0).await;
    let (tell, mut grants) = mpsc::unbounded_channel();
    let mut all = JoinSet::new();
    for _ in 0..managers {
        let locks = locks(&cluster).await;
        for _ in 0..tasks / managers {
            let (locks, key, tell) = (locks.clone(), key.clone(), tell.clone());
            all.spawn(again_and_again(locks, key, ttl, tell));
        }
    }
    let (mut last, mut longest, mut count) = (Instant::now(), Duration::ZERO, 0);
    let (mut taken, mut counted) = (None::<Instant>, 0);
    let mut swap = Some(swap);
    loop {
        let next = timeout(PATIENCE, grants.recv()).await;
        let at = next.expect("the lock stands idle").unwrap();
        if count > 0 {
            longest = longest.max(at - last);
        }
        last = at;
        count += 1;
        if count > tasks * 5
            && let Some(swap) = swap.take()
        {
            swap(&cluster, &key).await;
            eventually("they have changed places", async || {
                is(&cluster, 0, "slave").await && is(&cluster, 3, "master").await
            })
            .await;
            (taken, counted) = (Some(Instant::now()), count);
        }
        let is_long_ago = taken.is_some_and(|it| it + Duration::from_secs(1) < at);
        if is_long_ago && count > counted + tasks * 10 {
            assert!(longest < AT_MOST, "{longest:?}");
            return;
        }
    }
}

#[tokio::test]
async fn waiters_are_served_after_a_takeover() {
    holds_up_nobody(1, 5, Duration::from_secs(30), take_over).await;
}

#[tokio::test]
async fn waiters_of_several_managers_are_served_after_a_takeover() {
    holds_up_nobody(3, 9, Duration::from_secs(20), take_over).await;
}

#[tokio::test]
async fn waiters_are_served_after_a_failover_to_a_replica_that_was_just_restarted() {
    holds_up_nobody(2, 6, Duration::from_secs(20), restart_and_fail_over).await;
}
