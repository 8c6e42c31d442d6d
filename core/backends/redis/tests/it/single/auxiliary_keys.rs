//! The keys that a lock leaves on the server.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use tokio::time::{sleep, timeout};

use crate::single::server::{Server, waiters};
use crate::single::server_errors::whole;

async fn keys(server: &Server) -> Vec<String> {
    let mut raw = server.raw().await;
    let mut keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut raw)
        .await
        .unwrap();
    keys.sort();
    keys
}

#[tokio::test]
async fn a_released_lock_leaves_its_counter_and_the_counter_has_a_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    for n in 0..20 {
        let guard = locks.lock(format!("one-off:{n}")).acquire().await.unwrap();
        guard.release().await.unwrap();
    }
    let left = keys(&server).await;
    assert_eq!(left.len(), 20);
    let mut raw = server.raw().await;
    for key in left {
        assert!(key.ends_with("}:lh1:fence"), "{key}");
        let ttl: i64 = redis::cmd("TTL")
            .arg(&key)
            .query_async(&mut raw)
            .await
            .unwrap();
        let two_days = 60 * 60 * 48;
        assert!(
            (two_days - 60..=two_days).contains(&ttl),
            "{key} has a ttl of {ttl} s"
        );
    }
}

#[tokio::test]
async fn each_key_of_a_held_lock_with_a_waiter_has_a_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    let mut raw = server.raw().await;
    let found = keys(&server).await;
    assert_eq!(found.len(), 4, "{found:?}");
    for key in found {
        let ttl: i64 = redis::cmd("PTTL")
            .arg(&key)
            .query_async(&mut raw)
            .await
            .unwrap();
        assert!(ttl > 0, "{key}");
    }
    guard.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(keys(&server).await, ["{lock:k}:lh1:fence"]);
}

#[tokio::test]
async fn cancelled_waiters_leave_no_keys_on_the_server() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| tokio::spawn(locks.lock("k").acquire()))
        .collect();
    while locks.inspect("k").await.unwrap().waiting < 10 {
        sleep(Duration::from_millis(5)).await;
    }
    // A waiter that ends before it has received the reply leaves a key until its request has expired.
    sleep(Duration::from_millis(5)).await;
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    while locks.inspect("k").await.unwrap().waiting > 0 {
        sleep(Duration::from_millis(5)).await;
    }
    guard.release().await.unwrap();
    assert_eq!(keys(&server).await, ["{lock:k}:lh1:fence"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_handovers_leave_free_locks_and_only_tombstones() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let names: Vec<_> = (0..2_000).map(|n| format!("k{n}")).collect();
    let cancelled = stream::iter(&names).map(async |name| {
        let guard = locks.lock(name).acquire().await.unwrap();
        let limit = Duration::from_micros(fastrand::u64(0..3_000));
        match timeout(limit, guard.hand_over()).await {
            Err(_) => 1,
            Ok(ticket) => {
                let accepted = locks.accept(&ticket.unwrap()).await.unwrap();
                accepted.release().await.unwrap();
                0
            }
        }
    });
    let cancelled: Vec<u32> = cancelled.buffer_unordered(20).collect().await;
    let cancelled: u32 = cancelled.into_iter().sum();
    assert!(
        (1..2_000).contains(&cancelled),
        "{cancelled} were cancelled"
    );
    // A shutdown waits for the releases in the background.
    locks.shutdown().await.unwrap();
    let locks = server.locks().await;
    for name in &names {
        assert!(locks.inspect(name).await.unwrap().is_free(), "{name}");
    }
    let left = keys(&server).await;
    let expected = |key: &String| key.ends_with(":lh1:fence") || key.contains(":lh1:sealed:");
    assert!(left.iter().all(expected), "{left:?}");
}

const QUEUE: &str = "{lock:k}:lh1:queue";
const LEASES: &str = "{lock:k}:lh1:leases";
const FENCE: &str = "{lock:k}:lh1:fence";

/// Adds a waiter at the front of the queue. Its lease ends in `seconds`, and its notifications go to the channel
/// `inbox`.
async fn queue_first(server: &Server, who: &str, seconds: i64) {
    let mut raw = server.raw().await;
    let time = redis::cmd("TIME");
    let (now, _): (i64, i64) = time.query_async(&mut raw).await.unwrap();
    let lease = format!("{} x inbox", (now + seconds) * 1_000_000);
    let mut entry = redis::pipe();
    entry.cmd("ZADD").arg(QUEUE).arg(-1).arg(who).ignore();
    entry.cmd("HSET").arg(LEASES).arg(who).arg(lease).ignore();
    let () = entry.query_async(&mut raw).await.unwrap();
}

#[tokio::test]
async fn an_expired_waiter_loses_its_queue_position_and_its_lease() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    queue_first(&server, "dead", -1).await;
    // A second waiter keeps the auxiliary keys on the server.
    let behind = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 2).await;
    guard.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    let mut raw = server.raw().await;
    for (count, key) in [("ZCARD", QUEUE), ("HLEN", LEASES)] {
        let left: u64 = redis::cmd(count)
            .arg(key)
            .query_async(&mut raw)
            .await
            .unwrap();
        assert_eq!(left, 1, "{key}");
    }
    guard.release().await.unwrap();
    behind.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_waiter_without_a_subscription_is_skipped_immediately() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    queue_first(&server, "deaf", 30).await;
    guard.release().await.unwrap();
    let patience = Duration::from_secs(10);
    let next = timeout(patience, waiting).await;
    next.unwrap().unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_renewal_extends_the_ttl_of_the_counter_like_an_acquire() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let writer = locks.lock("k").acquire().await.unwrap();
    for reads in [false, true] {
        let mut shorten = redis::cmd("PEXPIRE");
        shorten.arg(FENCE).arg(60_000);
        let () = shorten.query_async(&mut raw).await.unwrap();
        if reads {
            let reader = locks.rw_lock("k").read().acquire().await.unwrap();
            let () = shorten.query_async(&mut raw).await.unwrap();
            reader.renew().await.unwrap();
        } else {
            writer.renew().await.unwrap();
            let ended = locks.force_release("k").await.unwrap();
            assert!(ended);
        }
        let ttl = redis::cmd("TTL")
            .arg(FENCE)
            .query_async::<i64>(&mut raw)
            .await;
        assert!(ttl.unwrap() > 60 * 60 * 24, "read: {reads}");
    }
}

#[tokio::test]
async fn a_release_and_a_forced_release_hand_off_the_lock_in_one_step() {
    for forced in [false, true] {
        let server = Server::start().await;
        let (locks, mut raw) = (server.locks().await, server.raw().await);
        let guard = locks.lock("k").acquire().await.unwrap();
        let mut ears = server.inner().client().await.unwrap();
        ears.command(["SUBSCRIBE", "inbox"]).await.unwrap();
        queue_first(&server, "next", 30).await;
        if forced {
            assert!(locks.force_release("k").await.unwrap());
        } else {
            guard.release().await.unwrap();
        }
        // The waiter has not sent another request yet.
        let mut get = redis::cmd("GET");
        let holder: Option<String> = get.arg("lock:k").query_async(&mut raw).await.unwrap();
        assert_eq!(holder.as_deref(), Some("next"), "forced: {forced}");
        let mut pttl = redis::cmd("PTTL");
        let left: i64 = pttl.arg("lock:k").query_async(&mut raw).await.unwrap();
        assert!(0 < left && left <= 2000, "{left}");
    }
}

#[tokio::test]
async fn tokens_exceed_a_counter_ahead_of_the_servers_clock() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let ahead = 4_000_000_000_000_000_i64;
    let mut set = redis::cmd("SET");
    set.arg(FENCE).arg(format!("{ahead} somebody"));
    let () = set.query_async(&mut raw).await.unwrap();
    for more in 1..=3 {
        let guard = locks.lock("k").acquire().await.unwrap();
        assert_eq!(guard.token().get(), ahead + more);
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn an_exhausted_token_counter_is_a_permanent_error() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let mut set = redis::cmd("SET");
    set.arg(FENCE)
        .arg(format!("{} somebody", (1_i64 << 53) - 1));
    let () = set.query_async(&mut raw).await.unwrap();
    let refused = locks.lock("k").acquire().await.unwrap_err();
    assert!(!refused.is_temporary(), "{refused:?}");
    let told = whole(&refused);
    assert!(told.contains("2^53"), "{told}");
    assert!(locks.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn a_joining_reader_extends_the_ttl_of_the_counter() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let first = locks.rw_lock("k").read().acquire().await.unwrap();
    let mut shorten = redis::cmd("PEXPIRE");
    let shorten = shorten.arg(FENCE).arg(60_000);
    let () = shorten.query_async(&mut raw).await.unwrap();
    let second = locks.rw_lock("k").read().acquire().await.unwrap();
    assert_eq!(first.token(), second.token());
    let mut ttl = redis::cmd("TTL");
    let left: i64 = ttl.arg(FENCE).query_async(&mut raw).await.unwrap();
    assert!(left > 60 * 60 * 24, "{left}");
}

#[tokio::test]
async fn accepting_a_lock_leaves_a_tombstone_for_the_previous_holder() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let guard = locks.lock("k").acquire().await.unwrap();
    let mut get = redis::cmd("GET");
    let giver: String = get.arg("lock:k").query_async(&mut raw).await.unwrap();
    let ticket = guard.hand_over().await.unwrap();
    let taken = locks.accept(&ticket).await.unwrap();
    let mut exists = redis::cmd("EXISTS");
    let (giver, _label) = giver.split_once('@').unwrap();
    let exists = exists.arg(format!("{{lock:k}}:lh1:sealed:{giver}"));
    let sealed: u8 = exists.query_async(&mut raw).await.unwrap();
    assert_eq!(sealed, 1);
    taken.release().await.unwrap();
}

#[tokio::test]
async fn a_name_of_only_a_hash_tag_is_refused_and_readers_keep_their_lock() {
    let server = Server::start().await;
    let redis = Redis::connect(&server.url()).await.unwrap();
    let locks = LockManager::builder().prefix("").build(redis).unwrap();
    let reader = locks.rw_lock("a").read().acquire().await.unwrap();
    // The auxiliary key for shared holders would be the same as that of `a`.
    let enclosed = locks.rw_lock("{a}").read().acquire().await;
    let told = match enclosed {
        Ok(guard) => format!("{:?}", guard.release().await),
        Err(refused) => whole(&refused),
    };
    assert!(locks.lock("a").try_acquire().await.unwrap().is_none());
    reader.renew().await.unwrap();
    assert!(told.contains("`{a}`") && told.contains("prefix"), "{told}");
    let beside = locks.rw_lock("{a}:b").read().acquire().await.unwrap();
    beside.release().await.unwrap();
    assert!(locks.lock("a").try_acquire().await.unwrap().is_none());
    reader.release().await.unwrap();
    assert!(locks.lock("a").try_acquire().await.unwrap().is_some());
}
