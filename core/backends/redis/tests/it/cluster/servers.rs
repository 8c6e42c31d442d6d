use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::ClusterRedis;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// Much longer than any step of these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Three masters that all tests share. No test may break them.
pub(crate) static UNBROKEN: LazyLock<ClusterRedis> = LazyLock::new(|| {
    let start = || {
        let runtime = Runtime::new().unwrap();
        runtime.block_on(ClusterRedis::start()).unwrap()
    };
    thread::spawn(start).join().unwrap()
});

pub(crate) fn url(cluster: &ClusterRedis) -> String {
    format!("redis+cluster://{}", cluster.hosts())
}

/// Returns a manager whose acquires outlast a failover, also a slow one.
pub(crate) async fn locks(cluster: &ClusterRedis) -> LockManager {
    let locks = LockManager::builder().backend_retry_timeout(PATIENCE);
    locks.connect(&url(cluster)).await.unwrap()
}

/// Returns the slot of a key's lock.
pub(crate) async fn slot(cluster: &ClusterRedis, key: &str) -> u16 {
    let full = format!("lock:{key}");
    let slot = ask(cluster, 2, &["CLUSTER", "KEYSLOT", &full]).await;
    slot.int().unwrap().try_into().unwrap()
}

/// Returns the first of the keys `a`, `b`, … whose lock is on this master.
pub(crate) async fn key_on(cluster: &ClusterRedis, master: usize) -> String {
    for key in 'a'..='z' {
        let key = key.to_string();
        if cluster.master_of(slot(cluster, &key).await) == master {
            return key;
        }
    }
    panic!("no key is on master {master}");
}

pub(crate) async fn ask(cluster: &ClusterRedis, server: usize, words: &[&str]) -> Value {
    let mut client = cluster.server(server).client().await.unwrap();
    client.command(words).await.unwrap()
}

/// Returns when `count` waiters wait for the key.
pub(crate) async fn waiters(locks: &LockManager, key: &str, count: usize) {
    eventually(&format!("{count} wait"), async || {
        let seen = locks.inspect(key).await;
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
