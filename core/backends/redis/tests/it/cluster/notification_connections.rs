//! Connections that receive notifications for waiters, and their failures.

use std::time::Duration;

use futures_util::poll;
use leasehold::Key;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold_testkit::proxy::{Proxy, Which};
use leasehold_testkit::servers::ClusterRedis;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use crate::cluster::servers::{UNBROKEN, ask, eventually, key_on, locks, slot, soon, url, waiters};

const TTL: Duration = Duration::from_secs(60);

/// Returns how many clients are subscribed for waiters of a key.
async fn listeners(key: &str) -> usize {
    let home = UNBROKEN.master_of(slot(&UNBROKEN, key).await);
    let pattern = format!("*:{{lock:{key}}}");
    let channels = ask(&UNBROKEN, home, &["PUBSUB", "SHARDCHANNELS", &pattern]).await;
    channels.items().len()
}

#[test]
fn a_subscription_of_an_ended_runtime_is_recreated_in_another() {
    const KEY: &str = "heard in one that ends";
    let runtime = || Runtime::new().unwrap();
    let (lives, ends) = (runtime(), runtime());
    let (holder, waiter) =
        lives.block_on(async { (locks(&UNBROKEN).await, locks(&UNBROKEN).await) });
    ends.block_on(async {
        let guard = waiter.lock(KEY).acquire().await.unwrap();
        guard.release().await.unwrap();
        assert_eq!(listeners(KEY).await, 1);
    });
    drop(ends);
    lives.block_on(async {
        eventually("nobody listens", async || listeners(KEY).await == 0).await;
        let guard = holder.lock(KEY).acquire().await.unwrap();
        let waiting = tokio::spawn(waiter.lock(KEY).acquire());
        eventually("both listen", async || listeners(KEY).await == 2).await;
        guard.release().await.unwrap();
        drop(soon(waiting).await.unwrap().unwrap());
    });
}

#[test]
fn a_stalled_runtime_does_not_block_subscriptions_of_other_runtimes() {
    const KEY: &str = "heard where somebody drives";
    let attempt = |name, queue| Attempt::new(Key::new("lock:", name).unwrap(), TTL, queue);
    let (driven, mut still) = (Runtime::new().unwrap(), Builder::new_current_thread());
    let still = still.enable_all().build().unwrap();
    let backend = driven.block_on(async {
        let backend = Redis::connect(&url(&UNBROKEN)).await.unwrap();
        // After this request the backend knows the server's time and does not query it again.
        let first = attempt("heard by nobody", false);
        backend.attempt(&first).await.unwrap();
        backend
    });
    let (stuck, asks) = (attempt(KEY, true), attempt(KEY, true));
    let mut stuck = backend.attempt(&stuck);
    still.block_on(async {
        assert!(poll!(&mut stuck).is_pending());
        // The task that connects for this attempt has started.
        yield_now().await;
    });
    let asked = async { soon(backend.attempt(&asks)).await.unwrap() };
    let answer = driven.block_on(asked);
    assert!(
        matches!(answer, AttemptAnswer::Granted { .. }),
        "{answer:?}"
    );
    assert_eq!(driven.block_on(listeners(KEY)), 1);
}

/// Simulates a router that forgets idle connections.
#[tokio::test]
async fn a_silent_notification_connection_is_replaced() {
    let cluster = ClusterRedis::start().await.unwrap();
    let proxy = Proxy::start(cluster.server(0).port()).await.unwrap();
    let port = proxy.port().to_string();
    let announce = ["CONFIG", "SET", "cluster-announce-port", &port];
    ask(&cluster, 0, &announce).await;
    eventually("the proxy is the way to the first member", async || {
        for member in 0..3 {
            let slots = ask(&cluster, member, &["CLUSTER", "SLOTS"]).await;
            if !format!("{slots:?}").contains(&port) {
                return false;
            }
        }
        true
    })
    .await;
    let (holder, waiter) = (locks(&cluster).await, locks(&cluster).await);
    let key = key_on(&cluster, 0).await;
    let guard = holder.lock(&key).ttl(TTL).acquire().await.unwrap();
    let waiting = tokio::spawn(waiter.lock(&key).acquire());
    waiters(&holder, &key, 1).await;

    let connections = proxy.stats().connections;
    // The connection only subscribes, so it sends nothing except PING. From now on it receives nothing.
    proxy.hold_requests(Which::named("PING").times(1));
    let anew = proxy.until("it is made anew", |seen| seen.connections > connections);
    anew.await.unwrap();
    guard.release().await.unwrap();
    drop(soon(waiting).await.unwrap().unwrap());
}
