//! Planned changes by operators while many clients wait. During a manual failover two servers act as the primary for a
//! moment, and releases on the old one are missing on the new one.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::SentinelRedis;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::sentinel::servers::{eventually, locks, replicated, soon, waiters, whole};

/// The maximum time without a grant, independent of the TTL and the number of waiters. It is shorter than all TTLs, and
/// than the interval of eleven seconds at which a waiter behind the first one polls.
const AT_MOST: Duration = Duration::from_secs(9);
/// Longer than the lifetime of a position in the queue.
const PATIENCE: Duration = Duration::from_secs(60);
const HOLD: Duration = Duration::from_millis(5);
const MINUTE: Duration = Duration::from_secs(60);

/// Tasks that acquire and release the same key repeatedly.
struct Load {
    grants: mpsc::UnboundedReceiver<Instant>,
    seen: Vec<Instant>,
    tasks: JoinSet<()>,
}

impl Load {
    fn of(managers: &[LockManager], tasks: usize, ttl: Duration) -> Self {
        let (tell, grants) = mpsc::unbounded_channel();
        let mut all = JoinSet::new();
        for locks in managers.iter().cycle().take(tasks) {
            let (locks, tell) = (locks.clone(), tell.clone());
            all.spawn(async move {
                loop {
                    let lock = locks.lock("k").ttl(ttl).wait(MINUTE);
                    if let Ok(guard) = lock.acquire().await {
                        let _is_over = tell.send(Instant::now());
                        sleep(HOLD).await;
                        // The lock may be lost, so ignore the result.
                        let _outcome = guard.release().await;
                    }
                }
            });
        }
        Self {
            grants,
            seen: Vec::new(),
            tasks: all,
        }
    }

    async fn goes_on(&mut self, grants: usize) {
        for _ in 0..grants {
            let next = timeout(PATIENCE, self.grants.recv()).await;
            self.seen.push(next.expect("the lock stands idle").unwrap());
        }
    }

    /// Returns the longest time without a grant since the new primary is available.
    fn longest(&self, since: Instant) -> Duration {
        let gaps = self
            .seen
            .windows(2)
            .map(|it| it[1] - it[0].max(since).min(it[1]));
        gaps.max().unwrap_or_default()
    }
}

async fn fail_over(redis: &SentinelRedis) {
    eventually("a failover begins", async || {
        let mut sentinel = redis.sentinels()[0].client().await.unwrap();
        let swap = ["SENTINEL", "FAILOVER", redis.name()];
        sentinel.command(swap).await.is_ok()
    })
    .await;
    redis.until_failed_over().await.unwrap();
}

/// Returns when the old primary is a replica, and all Sentinels have noticed it. Before that, they would make both
/// servers replicas.
async fn settled(redis: &SentinelRedis) {
    eventually("the old primary is a replica", async || {
        let mut old = redis.servers().replica().client().await.unwrap();
        // A server disconnects its clients when it changes its role.
        let role = old.command(["ROLE"]).await;
        role.is_ok_and(|role| role.items()[0].text() == Some("slave"))
    })
    .await;
    replicated(redis.servers()).await;
    eventually("the Sentinels know", async || {
        let mut settled = 0;
        for sentinel in redis.sentinels() {
            let mut sentinel = sentinel.client().await.unwrap();
            let ask = ["SENTINEL", "REPLICAS", redis.name()];
            let replicas = sentinel.command(ask).await.unwrap();
            let words = replicas.items().iter().flat_map(Value::items);
            let words: Vec<_> = words.filter_map(Value::text).collect();
            let role = words.iter().position(|it| *it == "role-reported");
            settled += usize::from(role.is_some_and(|at| words[at + 1] == "slave"));
        }
        settled == redis.sentinels().len()
    })
    .await;
}

/// Checks that the lock is never free for long.
async fn holds_up_nobody(managers: usize, tasks: usize, ttl: Duration, failovers: usize) {
    let redis = SentinelRedis::start().await.unwrap();
    let mut all = Vec::new();
    for _ in 0..managers {
        all.push(locks(&redis).await);
    }
    let mut load = Load::of(&all, tasks, ttl);
    load.goes_on(tasks * 5).await;
    for _ in 0..failovers {
        let begun = Instant::now();
        fail_over(&redis).await;
        let since = Instant::now();
        settled(&redis).await;
        while let Ok(at) = load.grants.try_recv() {
            load.seen.push(at);
        }
        let (followed, before) = (Instant::now(), load.seen.len());
        while followed.elapsed() < Duration::from_secs(1) || load.seen.len() < before + tasks * 5 {
            load.goes_on(1).await;
        }
        let longest = load.longest(since);
        let whole = load.longest(begun);
        println!(
            "{tasks} tasks of {managers} managers, TTL {ttl:?}: {longest:?} of {whole:?}, {:?}",
            since - begun
        );
        assert!(longest < AT_MOST, "{longest:?}");
    }
    load.tasks.shutdown().await;
    let ended = Instant::now();
    eventually("nobody stands in line, and nobody holds it", async || {
        all[0].inspect("k").await.is_ok_and(|it| it.is_free())
    })
    .await;
    assert!(ended.elapsed() < AT_MOST, "{:?}", ended.elapsed());
}

#[tokio::test]
async fn a_lock_whose_release_only_the_old_primary_received_becomes_free() {
    let redis = SentinelRedis::start().await.unwrap();
    let (first, next) = (locks(&redis).await, locks(&redis).await);
    let guard = first.lock("k").ttl(MINUTE).acquire().await.unwrap();
    replicated(redis.servers()).await;
    redis.servers().hold();
    guard.release().await.unwrap();
    fail_over(&redis).await;
    // The manager of the old holder gets no further requests.
    let begin = Instant::now();
    let lock = next.lock("k").wait(PATIENCE);
    lock.acquire().await.unwrap().release().await.unwrap();
    assert!(begin.elapsed() < AT_MOST, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn two_waiters_are_served_after_a_failover() {
    holds_up_nobody(1, 2, Duration::from_secs(10), 1).await;
}

#[tokio::test]
async fn two_waiters_with_a_long_ttl_are_served_after_a_failover() {
    holds_up_nobody(1, 2, Duration::from_secs(30), 1).await;
}

#[tokio::test]
async fn five_waiters_are_served_after_a_failover() {
    holds_up_nobody(1, 5, Duration::from_secs(10), 1).await;
}

#[tokio::test]
async fn many_waiters_of_one_manager_are_served_after_a_failover() {
    holds_up_nobody(1, 20, Duration::from_secs(10), 1).await;
}

#[tokio::test]
async fn many_waiters_with_a_long_ttl_are_served_after_a_failover() {
    holds_up_nobody(1, 20, Duration::from_secs(30), 1).await;
}

#[tokio::test]
async fn waiters_of_several_managers_are_served_after_a_failover() {
    holds_up_nobody(3, 9, Duration::from_secs(10), 1).await;
}

#[tokio::test]
async fn waiters_are_served_after_a_failover_and_a_failback() {
    holds_up_nobody(2, 6, Duration::from_secs(10), 2).await;
}

#[tokio::test]
async fn an_acquire_waits_while_the_sentinels_do_not_know_the_primary() {
    let redis = SentinelRedis::start().await.unwrap();
    let locks = locks(&redis).await;
    drop(locks.lock("k").acquire().await.unwrap());
    let all = async |ask: &[&str]| {
        for sentinel in redis.sentinels() {
            let mut sentinel = sentinel.client().await.unwrap();
            sentinel.command(ask).await.unwrap();
        }
    };
    all(&["SENTINEL", "REMOVE", redis.name()]).await;
    let mut primary = redis.servers().primary().client().await.unwrap();
    for kind in ["normal", "pubsub"] {
        let cut = ["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"];
        primary.command(cut).await.unwrap();
    }
    eventually("the manager has noticed", async || {
        let seen = locks.inspect("k").await;
        seen.is_err_and(|it| whole(&it).contains("not know a primary `mymaster` any more"))
    })
    .await;
    let waiting = tokio::spawn(locks.lock("k").wait(PATIENCE).acquire());
    sleep(Duration::from_millis(500)).await;
    assert!(!waiting.is_finished(), "{:?}", waiting.await);
    let port = redis.servers().primary().port().to_string();
    all(&["SENTINEL", "MONITOR", redis.name(), "127.0.0.1", &port, "2"]).await;
    let begin = Instant::now();
    drop(waiting.await.unwrap().unwrap());
    assert!(begin.elapsed() < AT_MOST, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn without_sentinels_open_connections_work_and_new_ones_are_refused() {
    let redis = SentinelRedis::start().await.unwrap();
    let locks = locks(&redis).await;
    let guard = locks.lock("k").ttl(MINUTE).acquire().await.unwrap();
    for sentinel in redis.sentinels() {
        sentinel.kill();
    }
    guard.renew().await.unwrap();
    drop(locks.lock("free").acquire().await.unwrap());
    let mut primary = redis.servers().primary().client().await.unwrap();
    for kind in ["normal", "pubsub"] {
        let cut = ["CLIENT", "KILL", "TYPE", kind];
        primary.command(cut).await.unwrap();
    }
    let refused = async {
        loop {
            let error = locks.lock("free").try_acquire().await.unwrap_err();
            assert!(error.is_temporary(), "{}", whole(&error));
            // The first call may only report that the connection is closed.
            if whole(&error).contains("no Sentinel reports the primary") {
                return;
            }
        }
    };
    soon(refused).await;
    let waiting = tokio::spawn(locks.lock("other").acquire());
    for sentinel in redis.sentinels() {
        sentinel.restart().await.unwrap();
    }
    drop(soon(waiting).await.unwrap().unwrap());
    soon(guard.release()).await.unwrap();
}

#[tokio::test]
async fn a_password_change_with_both_passwords_valid_survives_a_failover() {
    let redis = SentinelRedis::start_with_passwords("old", "own").await;
    let redis = redis.unwrap();
    let manager = async |password: &str| {
        let (hosts, name) = (redis.hosts(), redis.name());
        let url = format!("redis+sentinel://:{password}@{hosts}/{name}?sentinel_password=own");
        LockManager::connect(&url).await.unwrap()
    };
    let before = manager("old").await;
    let guard = before.lock("k").ttl(MINUTE).acquire().await.unwrap();
    for server in [redis.servers().primary(), redis.servers().replica()] {
        let mut server = server.client().await.unwrap();
        for words in [
            ["ACL", "SETUSER", "default", ">new"],
            ["CONFIG", "SET", "masterauth", "new"],
        ] {
            server.command(words).await.unwrap();
        }
    }
    for sentinel in redis.sentinels() {
        let mut sentinel = sentinel.client().await.unwrap();
        let words = ["SENTINEL", "SET", redis.name(), "auth-pass", "new"];
        sentinel.command(words).await.unwrap();
    }
    let after = manager("new").await;
    let waiting = tokio::spawn(after.lock("k").ttl(MINUTE).acquire());
    waiters(&after, 1).await;
    replicated(redis.servers()).await;
    fail_over(&redis).await;
    guard.renew().await.unwrap();
    soon(guard.release()).await.unwrap();
    soon(waiting)
        .await
        .unwrap()
        .unwrap()
        .release()
        .await
        .unwrap();
}
