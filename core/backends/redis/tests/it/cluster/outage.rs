//! A master that is down or does not respond, and leases on the other masters.

use std::time::Duration;

use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold::{Key, LockGuard, LockManager};
use leasehold_testkit::servers::ClusterRedis;
use tokio::time::sleep;

use crate::cluster::servers::{ask, key_on, slot, soon};

/// Long enough for renewals on a busy machine.
const TTL: Duration = Duration::from_secs(9);

/// Starts three masters. Each of them serves its slots even if the others are down.
async fn independent() -> ClusterRedis {
    let cluster = ClusterRedis::start().await.unwrap();
    for member in 0..3 {
        let setting = ["CONFIG", "SET", "cluster-require-full-coverage", "no"];
        ask(&cluster, member, &setting).await;
    }
    cluster
}

/// Returns a URL with one host name for all masters. The masters announce another name.
fn by_name(cluster: &ClusterRedis) -> String {
    let seeds = cluster.hosts().replace("127.0.0.1", "localhost");
    format!("redis+cluster://{seeds}")
}

async fn leases_on_others_outlive(what: impl FnOnce(&ClusterRedis)) {
    let cluster = independent().await;
    let locks = LockManager::connect(&by_name(&cluster)).await.unwrap();
    let (mut theirs, mut others) = (Vec::new(), Vec::new());
    for n in 0..60 {
        let key = n.to_string();
        let guard = locks.lock(&key).ttl(TTL).acquire().await.unwrap();
        match cluster.master_of(slot(&cluster, &key).await) {
            0 => theirs.push(guard),
            _ => others.push(guard),
        }
    }
    what(&cluster);
    // This takes a TTL.
    for guard in theirs {
        soon(guard.ended()).await;
    }
    sleep(TTL / 3).await;
    assert!(others.iter().all(LockGuard::is_valid), "{others:?}");
}

#[tokio::test]
async fn leases_on_other_masters_survive_a_killed_master() {
    leases_on_others_outlive(|cluster| cluster.server(0).kill()).await;
}

#[tokio::test]
async fn leases_on_other_masters_survive_an_unresponsive_master() {
    leases_on_others_outlive(|cluster| cluster.server(0).pause().unwrap()).await;
}

#[tokio::test]
async fn querying_the_slot_map_during_an_outage_interrupts_no_waiter() {
    let cluster = independent().await;
    let backend = Redis::connect(&by_name(&cluster)).await.unwrap();
    let (gone, stays) = (key_on(&cluster, 0).await, key_on(&cluster, 1).await);
    let attempt = |name: &str| Attempt::new(Key::new("lock:", name).unwrap(), TTL, false);
    for key in [&gone, &stays] {
        let answer = backend.attempt(&attempt(key)).await.unwrap();
        assert!(matches!(answer, AttemptAnswer::Granted { .. }));
    }
    cluster.server(0).kill();
    // The connection to this master has ended, and was used before.
    let interruptions = soon(backend.interrupted(0)).await;
    for _ in 0..10 {
        backend.attempt(&attempt(&gone)).await.unwrap_err();
        backend.attempt(&attempt(&stays)).await.unwrap();
    }
    let mut interrupted = Box::pin(backend.interrupted(interruptions));
    assert!(poll!(&mut interrupted).is_pending());
}
