//! Concurrent requests that are sent in one batch.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::{LockGuard, LockManager};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::sync::{Mutex, mpsc};
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep, timeout};

use crate::single::batched_requests::{ALONE, beside_locks};
use crate::single::server::{Server, waiters};

const AT_ONCE: usize = 200;

/// Eight requests are sent alone. The others are sent in batches as soon as they are half of all requests, or 32. The
/// sizes are 7, 14, 28, 32, 32, 32, 32 and 15.
const CALLS: u64 = 16;

/// The number of waiters in the queue.
const IN_LINE: usize = 80;

/// The time after an acquisition in which a new waiter of the same process may be parked.
const PARKED_FOR: Duration = Duration::from_millis(10);

/// The number of one request that is sent in a batch.
const ONE: usize = 17;

/// After this call the backend knows the server's time and does not query it again.
async fn use_once(locks: &LockManager, key: &str) {
    let first = locks.lock(key).acquire().await.unwrap();
    first.release().await.unwrap();
}

fn keys() -> impl Iterator<Item = String> {
    (0..AT_ONCE).map(|number| format!("k{number}"))
}

/// Delays the first request until all requests are made.
async fn all_before_one_is_answered<T>(proxy: &Proxy, all: impl Future<Output = T>) -> T {
    proxy.hold_requests(Which::named("EVALSHA").times(1));
    let deliver = async {
        let held = proxy.until("the first is held", |seen| seen.held > 0);
        held.await.unwrap();
        proxy.deliver_held().await.unwrap();
    };
    // All requests are made at the first poll. `unconstrained` disables tokio's limit for a task with so many of them.
    tokio::join!(unconstrained(all), deliver).0
}

#[tokio::test]
async fn concurrent_requests_are_sent_in_few_calls() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let locks = LockManager::new(Redis::connect(&url).await.unwrap());
    use_once(&locks, "first").await;
    let looks = async || server.told("commandstats", "cmdstat_ping:calls").await;
    let looked_before = looks().await;
    let before = server.scripts().await;
    let all = keys().map(|key| locks.lock(key).acquire());
    let guards = all_before_one_is_answered(&proxy, join_all(all)).await;
    let acquired = server.scripts().await;
    assert_eq!(acquired - before, CALLS);
    let mut tokens: Vec<_> = guards
        .iter()
        .map(|it| it.as_ref().unwrap().token())
        .collect();
    tokens.dedup();
    for key in keys() {
        let seen = locks.inspect(&*key).await.unwrap();
        assert!(!seen.is_free() && seen.token.is_some());
    }
    let looked = server.scripts().await;
    let all = guards.into_iter().map(|it| it.unwrap().release());
    for released in all_before_one_is_answered(&proxy, join_all(all)).await {
        released.unwrap();
    }
    assert_eq!(server.scripts().await - looked, CALLS);
    for key in keys() {
        assert!(locks.inspect(&*key).await.unwrap().is_free());
    }
    assert_eq!(
        looks().await,
        looked_before,
        "who was answered suspects no connection"
    );
}

#[tokio::test]
async fn concurrent_acquires_of_one_key_are_granted_one_after_another() {
    let server = Server::start().await;
    let locks = server.locks().await;
    // In the second round the key is known, so its requests are sent in a batch.
    for _ in 0..2 {
        let mut tokens = Vec::new();
        let all = join_all((0..AT_ONCE).map(|_| async {
            let guard = locks.lock("k").acquire().await.unwrap();
            assert!(guard.is_valid());
            let token = guard.token();
            guard.release().await.unwrap();
            token
        }));
        tokens.extend(timeout(Duration::from_secs(20), all).await.unwrap());
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), AT_ONCE, "each has a token of its own");
        assert!(locks.inspect("k").await.unwrap().is_free());
    }
}

#[tokio::test]
async fn a_later_request_does_not_overtake_a_gathered_request() {
    let server = Server::start().await;
    let locks = server.locks().await;
    use_once(&locks, "first").await;
    let mut alone = Vec::new();
    for key in keys().take(ALONE) {
        let mut asked = Box::pin(locks.lock(key).acquire());
        assert!(poll!(&mut asked).is_pending());
        alone.push(asked);
    }
    let mut earlier = pin!(locks.lock("k").try_acquire());
    assert!(poll!(&mut earlier).is_pending());
    // No other request is in flight now.
    drop(alone);
    let mut later = pin!(locks.lock("k").try_acquire());
    assert!(poll!(&mut later).is_pending());
    let earlier = earlier.await.unwrap();
    assert!(earlier.is_some() && later.await.unwrap().is_none());
}

#[tokio::test]
async fn batched_tokens_exceed_a_counter_ahead_of_the_servers_clock() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let ahead = 4_000_000_000_000_000_i64;
    for (number, key) in (0..).zip(keys()) {
        let mut set = redis::cmd("SET");
        set.arg(format!("{{lock:{key}}}:lh1:fence"));
        set.arg(format!("{} somebody", ahead + number));
        let () = set.query_async(&mut raw).await.unwrap();
    }
    for more in 1..=2 {
        let guards = join_all(keys().map(|key| locks.lock(key).acquire())).await;
        for (number, guard) in (0..).zip(guards) {
            let guard = guard.unwrap();
            assert_eq!(guard.token().get(), ahead + number + more);
            guard.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_refused_request_in_a_batch_fails_only_its_own_caller() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let mut raw = server.raw().await;
    let () = redis::cmd("RPUSH")
        .arg(format!("lock:k{ONE}"))
        .arg("no lock")
        .query_async(&mut raw)
        .await
        .unwrap();
    // Locks that are released in the same step are released, and not reported as lost.
    for key in ["a", "b", "c", "d"].iter().cycle().take(8) {
        let held = locks.lock(*key).acquire().await.unwrap();
        let beside = locks.lock("f").acquire().await.unwrap();
        let all = async {
            tokio::join!(
                locks.lock("e").try_acquire(),
                join_all([held.release(), beside.release()]),
                locks.lock(format!("k{ONE}")).acquire(),
            )
        };
        let (outcome, others, refused) = beside_locks(&locks, all).await;
        assert!(outcome.is_ok() && refused.is_err());
        for released in others {
            released.unwrap();
        }
    }
    for _ in 0..2 {
        let guards = join_all(keys().map(|key| locks.lock(key).try_acquire())).await;
        for (number, guard) in guards.into_iter().enumerate() {
            match guard {
                Ok(guard) => guard.unwrap().release().await.unwrap(),
                Err(error) => {
                    assert_eq!(number, ONE, "{error}");
                    let cause = std::error::Error::source(&error).unwrap().to_string();
                    assert!(cause.contains("data of another type"), "{cause}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_key_without_permission_fails_no_other_request_of_its_batch() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER")
        .arg("some")
        .arg("on")
        .arg(">secret")
        .arg("allcommands")
        .arg("allchannels");
    for number in (0..AT_ONCE).filter(|number| *number != ONE) {
        user.arg(format!("~lock:k{number}"))
            .arg(format!("~{{lock:k{number}}}:lh1:*"));
    }
    let () = user.query_async(&mut raw).await.unwrap();
    let url = server.url().replace("redis://", "redis://some:secret@");
    let locks = LockManager::new(Redis::connect(&url).await.unwrap());
    use_once(&locks, "k0").await;
    let guards = join_all(keys().map(|key| locks.lock(key).acquire())).await;
    for (number, guard) in guards.iter().enumerate() {
        assert_eq!(guard.is_err(), number == ONE, "{number}: {guard:?}");
    }
}

#[test]
fn a_stalled_runtime_does_not_delay_requests_of_other_runtimes() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let (lives, stands_still) = (runtime(), runtime());
    let (_server, locks) = lives.block_on(async {
        let server = Server::start().await;
        let locks = server.locks().await;
        use_once(&locks, "first").await;
        (server, locks)
    });
    let asked = (0..ALONE + 2).map(|number| Box::pin(locks.lock(format!("s{number}")).acquire()));
    let asked = asked.collect::<Vec<_>>();
    let _asked = stands_still.block_on(async {
        let mut asked = asked;
        for it in &mut asked {
            assert!(poll!(it).is_pending());
        }
        asked
    });
    lives.block_on(async {
        let guards = join_all(keys().map(|key| locks.lock(key).acquire()));
        let guards = timeout(Duration::from_secs(5), guards).await;
        for guard in guards.expect("at once") {
            guard.unwrap().release().await.unwrap();
        }
    });
}

#[tokio::test]
async fn a_batch_whose_reply_is_lost_leaves_no_lock_held() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let backend = Redis::connect(&server.inner().url_at(proxy.port()))
        .await
        .unwrap();
    let manager = LockManager::builder().command_timeout(Duration::from_millis(200));
    let (locks, beside) = (manager.build(backend).unwrap(), server.locks().await);
    let before = server.scripts().await;
    proxy.lose_replies(Which::named("EVALSHA"));
    {
        let all = join_all(keys().map(|key| locks.lock(key).acquire()));
        let mut all = pin!(unconstrained(all));
        assert!(poll!(&mut all).is_pending());
        while server.scripts().await - before < CALLS {
            assert!(timeout(Duration::from_millis(1), &mut all).await.is_err());
        }
    }
    proxy.pass();
    for key in keys() {
        let free = async {
            while !beside.inspect(&*key).await.unwrap().is_free() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let limit = Duration::from_secs(10);
        assert!(timeout(limit, free).await.is_ok(), "{key} was cleaned up");
    }
    locks
        .lock("k1")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
}

/// A batch that is in flight and whose requests were cancelled. Its keys were used before.
struct Held {
    server: Server,
    proxy: Proxy,
    beside: LockManager,
    _locks: LockManager,
}

/// The requests in the batch with the one for `k40`, if all keys are requested.
const TOGETHER: Range<usize> = 29..57;

impl Held {
    async fn new(server: Server) -> Self {
        let proxy = Proxy::start(server.inner().port()).await.unwrap();
        let url = server.inner().url_at(proxy.port());
        let locks = LockManager::new(Redis::connect(&url).await.unwrap());
        let beside = server.locks().await;
        use_once(&locks, "first").await;
        for key in keys() {
            beside
                .lock(key)
                .acquire()
                .await
                .unwrap()
                .release()
                .await
                .unwrap();
        }
        proxy.hold_requests(Which::mentioning("lock:k40").times(1));
        let all = keys().map(|key| locks.lock(key).acquire());
        let all = tokio::spawn(unconstrained(join_all(all.collect::<Vec<_>>())));
        let held = proxy.until("the batch is held", |seen| seen.held > 0);
        held.await.unwrap();
        all.abort();
        Self {
            server,
            proxy,
            beside,
            _locks: locks,
        }
    }

    /// Returns how many requests of the batch have a tombstone.
    async fn sealed(&self) -> usize {
        let mut keys = redis::cmd("KEYS");
        keys.arg("*sealed*");
        let sealed: Vec<String> = keys
            .query_async(&mut self.server.raw().await)
            .await
            .unwrap();
        let of_batch = TOGETHER.filter(|number| {
            let lock = format!("{{lock:k{number}}}:");
            sealed.iter().any(|seal| seal.starts_with(&lock))
        });
        of_batch.count()
    }

    async fn took_nothing(self) {
        self.proxy.deliver_held().await.unwrap();
        for key in TOGETHER.map(|number| format!("k{number}")) {
            let seen = self.beside.inspect(&*key).await.unwrap();
            assert!(seen.is_free(), "{key}: {seen:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_delivered_after_the_cleanups_acquires_nothing() {
    let held = Held::new(Server::start().await).await;
    // The cleanups use a new connection.
    held.proxy.cut();
    let sealed = async {
        while held.sealed().await < TOGETHER.len() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let sealed = timeout(Duration::from_secs(10), sealed).await;
    sealed.expect("each was cleaned up");
    held.took_nothing().await;
}

#[tokio::test]
async fn a_batch_delivered_long_after_it_was_sent_acquires_nothing() {
    let clock = ClockShim::off_by(0).unwrap();
    let held = Held::new(Server::with(|server| server.wearing(&clock)).await).await;
    // No cleanup reaches the server.
    held.proxy.refuse().await.unwrap();
    held.proxy.cut();
    clock.set(120).unwrap();
    assert_eq!(held.sealed().await, 0);
    held.took_nothing().await;
}

#[tokio::test]
async fn a_batched_release_makes_the_server_refuse_duplicates_in_flight() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let backend = Redis::connect(&server.inner().url_at(proxy.port())).await;
    let manager = LockManager::builder();
    let manager = manager.command_timeout(Duration::from_millis(200));
    let locks = manager.build(backend.unwrap()).unwrap();
    let mut guards = Vec::new();
    for key in ["a", "b", "c"] {
        guards.push(locks.lock(key).acquire().await.unwrap());
    }
    proxy.hold_requests(Which::mentioning("lock:k").times(1));
    let asked = tokio::spawn(locks.lock("k").acquire());
    let held = proxy.until("a copy is held", |seen| seen.held >= 1);
    held.await.unwrap();
    // The next duplicate uses a new connection.
    proxy.cut();
    guards.push(asked.await.unwrap().unwrap());
    let released = guards.into_iter().map(<LockGuard>::release);
    for released in beside_locks(&locks, join_all(released)).await {
        released.unwrap();
    }
    proxy.deliver_held().await.unwrap();
    let seen = locks.inspect("k").await.unwrap();
    assert!(seen.is_free(), "a copy came: {seen:?}");
}

#[tokio::test]
async fn a_gathered_request_that_is_dropped_is_not_sent() {
    let server = Server::start().await;
    let locks = server.locks().await;
    use_once(&locks, "first").await;
    let before = server.scripts().await;
    let mut alone = Vec::new();
    for key in keys().take(ALONE) {
        let mut asked = Box::pin(locks.lock(key).acquire());
        assert!(poll!(&mut asked).is_pending());
        alone.push(asked);
    }
    {
        let one_more = pin!(locks.lock("b").try_acquire());
        assert!(poll!(one_more).is_pending());
    }
    for asked in alone {
        asked.await.unwrap().release().await.unwrap();
    }
    locks.shutdown().await.unwrap();
    let calls = server.scripts().await - before;
    assert_eq!(
        calls,
        2 * ALONE as u64 + 1,
        "two for each, and the cleanup of the other"
    );
}

#[tokio::test]
async fn a_release_is_sent_with_the_next_request_of_the_previous_holder() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let turns = |rounds: usize| {
        let locks = locks.clone();
        tokio::spawn(async move {
            for _ in 0..rounds {
                locks
                    .lock("k")
                    .acquire()
                    .await
                    .unwrap()
                    .release()
                    .await
                    .unwrap();
            }
        })
    };
    let guard = locks.lock("k").acquire().await.unwrap();
    let tasks: Vec<_> = (0..8).map(|_| turns(50)).collect();
    waiters(&locks, 8).await;
    let before = server.told("stats", "total_reads_processed").await;
    guard.release().await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let reads = server.told("stats", "total_reads_processed").await - before;
    assert!(reads < 8 * 50 * 5 / 4, "{reads} reads for 400 grants");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_of_several_keys_hold_one_at_a_time_in_token_order() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let mut tasks = Vec::new();
    for key in 0..8 {
        let inside = Arc::new(Mutex::new(None));
        for _ in 0..4 {
            let (lock, inside) = (locks.lock(format!("k{key}")), Arc::clone(&inside));
            tasks.push(tokio::spawn(async move {
                for _ in 0..50 {
                    let guard = lock.clone().acquire().await.unwrap();
                    let mut newest = inside.try_lock().expect("nobody else is inside");
                    assert!(*newest < Some(guard.token()));
                    *newest = Some(guard.token());
                    tokio::task::yield_now().await;
                    drop(newest);
                    guard.release().await.unwrap();
                }
            }));
        }
    }
    let all = timeout(Duration::from_secs(60), join_all(tasks)).await;
    for task in all.expect("all have their turns") {
        task.unwrap();
    }
}

/// Returns how many keys each script gets in an attempt and a release on this server.
async fn keys_told(server: &Server) -> Vec<String> {
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let pair = async || {
        let guard = locks.lock("k").acquire().await.unwrap();
        guard.release().await.unwrap();
    };
    // After this call the server has cached the scripts.
    pair().await;
    let mut log = redis::cmd("CONFIG");
    let log = log.arg("SET").arg("slowlog-log-slower-than").arg(0);
    let () = log.query_async(&mut raw).await.unwrap();
    // On a busy machine, a call of the first pair may have been slow enough for the log.
    let mut reset = redis::cmd("SLOWLOG");
    let () = reset.arg("RESET").query_async(&mut raw).await.unwrap();
    pair().await;
    let mut log = redis::cmd("SLOWLOG");
    // By default, only ten entries are returned.
    let log = log.arg("GET").arg(128).query_async(&mut raw).await.unwrap();
    let entries: Vec<(i64, i64, i64, Vec<String>, String, String)> = log;
    let words = entries.into_iter().rev().map(|(_, _, _, words, ..)| words);
    words
        .filter(|words| words[0] == "EVALSHA")
        .map(|words| words[2].clone())
        .collect()
}

#[tokio::test]
async fn a_cluster_node_with_a_plain_url_receives_all_key_names() {
    assert_eq!(keys_told(&Server::of_a_cluster().await).await, ["6", "6"]);
    assert_eq!(keys_told(&Server::start().await).await, ["4", "2"]);
}

#[tokio::test]
async fn a_cluster_node_with_a_plain_url_receives_requests_one_by_one() {
    let server = Server::of_a_cluster().await;
    let locks = server.locks().await;
    let rejected = async || server.told("errorstats", "errorstat_CROSSSLOT:count").await;
    let all = async || {
        for guard in join_all(keys().map(|key| locks.lock(key).acquire())).await {
            guard.unwrap().release().await.unwrap();
        }
    };
    all().await;
    let before = rejected().await;
    assert!(before > 0, "it was tried");
    all().await;
    assert_eq!(rejected().await, before, "and is not tried again");
}

#[tokio::test]
async fn concurrent_acquires_are_served_in_the_order_of_their_requests() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    // A parked waiter asks only when its task runs.
    sleep(PARKED_FOR).await;
    let (sender, mut served) = mpsc::unbounded_channel();
    let waiting = join_all((0..IN_LINE).map(|number| {
        let (lock, sender) = (locks.lock("k"), sender.clone());
        async move {
            let guard = lock.acquire().await.unwrap();
            sender.send(number).unwrap();
            guard.release().await.unwrap();
        }
    }));
    let waiting = tokio::spawn(waiting);
    waiters(&locks, IN_LINE).await;
    guard.release().await.unwrap();
    waiting.await.unwrap();
    for number in 0..IN_LINE {
        assert_eq!(served.recv().await, Some(number));
    }
}

#[tokio::test]
async fn waiters_behind_others_of_their_process_send_batched_requests() {
    let server = Server::start().await;
    let (other, locks) = (server.locks().await, server.locks().await);
    use_once(&locks, "first").await;
    let guard = other.lock("k").acquire().await.unwrap();
    let (begun, before) = (Instant::now(), server.scripts().await);
    let all = join_all((0..AT_ONCE).map(|_| locks.lock("k").acquire()));
    let mut all = pin!(unconstrained(all));
    let in_line = async {
        let mut raw = server.raw().await;
        let mut count = redis::cmd("ZCARD");
        count.arg("{lock:k}:lh1:queue");
        while count.query_async::<usize>(&mut raw).await.unwrap() < AT_ONCE {
            sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _all = &mut all => panic!("somebody else has it"),
        () = in_line => {}
    }
    let calls = server.scripts().await - before;
    // The first request is sent alone, and the others in batches of 32. The first waiter polls once a second.
    let looks = begun.elapsed().as_secs();
    assert!(calls <= 1 + 7 + looks, "{calls} calls");
    guard.release().await.unwrap();
}
