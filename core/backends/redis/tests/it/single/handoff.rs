//! A release that grants the lock to a waiter of the same process.

use std::pin::pin;
use std::time::Duration;

use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::{Error, LockGuard, LockManager};
use leasehold_testkit::proxy::{Proxy, Which};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::single::server::{Server, waiters};

/// The time for the confirmation of a direct hand-off.
const GRANT: Duration = Duration::from_secs(2);

/// The time until the first renewal after a direct hand-off.
const FIRST_RENEWAL: Duration = Duration::from_millis(100);

/// The first waiter polls once a second.
const FIRST_LOOKS: Duration = Duration::from_secs(1);

/// Less than the eleven seconds after which the other waiters poll.
const UNTIL_A_POLL: Duration = Duration::from_secs(9);

/// The number of rounds in which a busy machine may be late.
const ROUNDS: usize = 50;

fn waiter(locks: &LockManager) -> JoinHandle<Result<LockGuard, Error>> {
    let lock = locks.lock("k");
    tokio::spawn(async move { lock.acquire().await })
}

/// Polls an acquire until it is in the queue, and not again.
async fn stand_in_line(locks: &LockManager, idle: &mut (impl Future + Unpin)) {
    while locks.inspect("k").await.unwrap().waiting == 0 {
        assert!(poll!(&mut *idle).is_pending());
        sleep(Duration::from_millis(5)).await;
    }
    assert!(poll!(&mut *idle).is_pending());
}

#[tokio::test]
async fn a_waiter_of_the_same_process_acquires_without_a_request() {
    let server = Server::start().await;
    let locks = server.locks().await;
    for _ in 0..ROUNDS {
        let first = locks.lock("k").acquire().await.unwrap();
        let begin = Instant::now();
        let second = waiter(&locks);
        waiters(&locks, 1).await;
        let before = server.scripts().await;
        let (earlier, asked) = (first.token(), Instant::now());
        first.release().await.unwrap();
        let second = second.await.unwrap().unwrap();
        let scripts = server.scripts().await - before;
        // Before the waiter polls, and before the first renewal.
        let is_swift = begin.elapsed() < FIRST_LOOKS && asked.elapsed() < FIRST_RENEWAL;
        assert!(second.token() > earlier);
        let seen = locks.inspect("k").await.unwrap();
        assert_eq!((seen.token, seen.waiting), (Some(second.token()), 0));
        second.release().await.unwrap();
        assert!(locks.inspect("k").await.unwrap().is_free());
        if is_swift {
            assert_eq!(scripts, 1, "the release alone");
            return;
        }
    }
    panic!("late in each round");
}

/// Returns the remaining lease of the lock on the server.
async fn left(server: &Server) -> Duration {
    let mut pttl = redis::cmd("PTTL");
    let left: i64 = pttl
        .arg("lock:k")
        .query_async(&mut server.raw().await)
        .await
        .unwrap();
    // `PTTL` returns a negative number if the key does not exist.
    Duration::from_millis(left.try_into().unwrap_or_default())
}

/// After a direct hand-off, the lock has only the time for its confirmation. The first renewal extends it soon.
#[tokio::test]
async fn a_handed_off_lock_has_its_ttl_after_the_first_renewal() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let (mut was_short, mut was_soon) = (false, false);
    for _ in 0..ROUNDS {
        let first = locks.lock("k").acquire().await.unwrap();
        let second = waiter(&locks);
        waiters(&locks, 1).await;
        let asked = Instant::now();
        first.release().await.unwrap();
        let second = second.await.unwrap().unwrap();
        let (valid_for, on_server) = (second.valid_for(), left(&server).await);
        if asked.elapsed() < FIRST_RENEWAL {
            assert!(valid_for <= GRANT && on_server <= GRANT);
            was_short = true;
        }
        while second.is_valid() && left(&server).await < Duration::from_secs(20) {
            assert!(asked.elapsed() < GRANT * 10, "it is not renewed");
            sleep(Duration::from_millis(5)).await;
        }
        was_soon |= second.is_valid() && asked.elapsed() < GRANT / 4;
        // A busy machine may have lost it.
        let _outcome = second.release().await;
        if was_short && was_soon {
            return;
        }
    }
    panic!("once short: {was_short}, once renewed soon: {was_soon}");
}

/// Without renewal, the waiter sends a confirmation.
#[tokio::test]
async fn a_handed_off_lock_without_renewal_has_its_ttl_immediately() {
    let server = Server::start().await;
    let locks = server.locks().await;
    for _ in 0..ROUNDS {
        let first = locks.lock("k").acquire().await.unwrap();
        let begin = Instant::now();
        let lock = locks.lock("k").without_renewal();
        let second = tokio::spawn(async move { lock.acquire().await });
        waiters(&locks, 1).await;
        let before = server.scripts().await;
        first.release().await.unwrap();
        let second = second.await.unwrap().unwrap();
        assert!(left(&server).await > Duration::from_secs(20));
        assert!(second.valid_for() > Duration::from_secs(20));
        let scripts = server.scripts().await - before;
        let is_swift = begin.elapsed() < FIRST_LOOKS;
        second.release().await.unwrap();
        if is_swift {
            assert_eq!(scripts, 2, "it confirms");
            return;
        }
    }
    panic!("late in each round");
}

#[test]
fn only_hand_offs_inside_the_process_are_counted_as_local_handoffs() {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::start().await;
            let (here, there) = (server.locks().await, server.locks().await);
            let mut held = here.lock("k").acquire().await.unwrap();
            for next in [&here, &there, &here, &here] {
                let next = waiter(next);
                waiters(&here, 1).await;
                held.release().await.unwrap();
                held = next.await.unwrap().unwrap();
            }
            held.release().await.unwrap();
        });
    });
    let mut all = snapshots.snapshot().into_vec().into_iter();
    let name = "leasehold.local_handoffs";
    let count = all.find_map(|it| (it.0.key().name() == name).then_some(it.3));
    assert_eq!(
        count,
        Some(DebugValue::Counter(2)),
        "the first and the last, from a task of this process to one"
    );
}

#[tokio::test]
async fn waiters_of_all_processes_are_served_in_queue_order() {
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    let guard = here.lock("k").acquire().await.unwrap();
    let (sender, mut granted) = mpsc::unbounded_channel();
    for (place, locks) in [&there, &here, &here, &there, &here]
        .into_iter()
        .enumerate()
    {
        let (lock, sender) = (locks.lock("k"), sender.clone());
        tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            sender.send(place).unwrap();
            guard.release().await.unwrap();
        });
        waiters(&here, place + 1).await;
    }
    guard.release().await.unwrap();
    for place in 0..5 {
        let next = timeout(UNTIL_A_POLL, granted.recv()).await;
        assert_eq!(next.expect("at once"), Some(place));
    }
}

#[tokio::test]
async fn a_waiter_that_is_not_polled_loses_its_hand_off_and_acquires_later() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let first = locks.lock("k").acquire().await.unwrap();
    let lock = locks.lock("k");
    let mut idle = pin!(lock.acquire());
    stand_in_line(&locks, &mut idle).await;
    let third = waiter(&locks);
    waiters(&locks, 2).await;
    first.release().await.unwrap();
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!(seen.waiting, 1, "it was passed on to who is not polled");
    assert!(seen.expires_in.unwrap() <= GRANT);
    // The time for the confirmation, and the time until the next waiter of its process polls.
    let third = timeout(UNTIL_A_POLL, third).await;
    let third = third.expect("its time is over").unwrap().unwrap();
    let waiting = timeout(Duration::from_millis(300), &mut idle).await;
    assert!(waiting.is_err());
    assert!(third.is_valid());
    third.release().await.unwrap();
    let late = timeout(Duration::from_secs(30), idle).await;
    late.expect("in its turn").unwrap().release().await.unwrap();
    assert!(locks.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn a_dropped_release_makes_the_next_waiter_poll_immediately() {
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    let guard = here.lock("k").acquire().await.unwrap();
    // The next waiter polls rarely, because a waiter of another process is in front of it.
    let before = waiter(&there);
    waiters(&here, 1).await;
    let next = waiter(&here);
    waiters(&here, 2).await;
    before.abort();
    waiters(&here, 1).await;
    let mut raw = server.raw().await;
    let held: String = redis::cmd("GET")
        .arg("lock:k")
        .query_async(&mut raw)
        .await
        .unwrap();
    let mut release = Box::pin(guard.release());
    assert!(poll!(&mut release).is_pending());
    // The release was sent, but is never polled again. So no task reads its reply.
    let mut holder = held.clone();
    while holder == held {
        sleep(Duration::from_millis(1)).await;
        let mut ask = redis::cmd("GET");
        holder = ask.arg("lock:k").query_async(&mut raw).await.unwrap();
    }
    drop(release);
    let next = timeout(UNTIL_A_POLL, next).await;
    next.expect("at once")
        .unwrap()
        .unwrap()
        .release()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_waiter_whose_grant_reply_is_lost_polls_soon() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let backend = Redis::connect(&url).await.unwrap();
    let manager = LockManager::builder().command_timeout(Duration::from_secs(1));
    let (locks, look) = (manager.build(backend).unwrap(), server.locks().await);
    let first = locks.lock("k").acquire().await.unwrap();
    let second = waiter(&locks);
    waiters(&look, 1).await;
    proxy.lose_replies(Which::named("EVALSHA").times(1));
    let released = tokio::spawn(first.release());
    // The first waiter polls on a new connection. This is much faster than the eleven seconds of other waiters.
    let second = timeout(UNTIL_A_POLL, second).await;
    let second = second.expect("it looks").unwrap().unwrap();
    let lost = released.await.unwrap();
    assert!(lost.is_err(), "its answer: {lost:?}");
    second.release().await.unwrap();
}

#[test]
fn a_waiter_of_an_ended_runtime_gets_no_direct_hand_off() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let (lives, dies) = (runtime(), runtime());
    let (_server, locks, first) = lives.block_on(async {
        let server = Server::start().await;
        let locks = server.locks().await;
        let first = locks.lock("k").acquire().await.unwrap();
        (server, locks, first)
    });
    let (_leaked, lock) = dies.block_on(async { (waiter(&locks), locks.lock("k")) });
    lives.block_on(waiters(&locks, 1));
    drop(lock);
    // Returns when the threads of the runtime have dropped its tasks.
    dies.shutdown_timeout(Duration::from_secs(60));
    lives.block_on(async {
        first.release().await.unwrap();
        let seen = locks.inspect("k").await.unwrap();
        assert_eq!(seen.token, None, "it is to confirm");
    });
}

#[tokio::test]
async fn a_waiter_with_a_ttl_shorter_than_the_grant_gets_no_direct_hand_off() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let first = locks.lock("k").acquire().await.unwrap();
    let lock = locks.lock("k").ttl(Duration::from_millis(500));
    let mut idle = pin!(lock.acquire());
    stand_in_line(&locks, &mut idle).await;
    first.release().await.unwrap();
    let left = locks.inspect("k").await.unwrap().expires_in.unwrap();
    assert!(
        left > Duration::from_millis(500),
        "the time to confirm: {left:?}"
    );
    idle.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_release_with_a_hand_off_makes_the_server_refuse_duplicates() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let backend = Redis::connect(&url).await.unwrap();
    let manager = LockManager::builder().command_timeout(Duration::from_secs(1));
    let (locks, look) = (manager.build(backend).unwrap(), server.locks().await);
    drop(locks.lock("first").acquire().await.unwrap());
    proxy.hold_requests(Which::mentioning("lock:k").times(1));
    let first = waiter(&locks);
    let held = proxy.until("a copy is held", |seen| seen.held >= 1);
    held.await.unwrap();
    // The next duplicate uses a new connection.
    proxy.cut();
    let first = first.await.unwrap().unwrap();
    let second = waiter(&locks);
    waiters(&look, 1).await;
    first.release().await.unwrap();
    let second = second.await.unwrap().unwrap();
    second.release().await.unwrap();
    proxy.deliver_held().await.unwrap();
    let seen = look.inspect("k").await.unwrap();
    assert!(seen.is_free(), "a copy came: {seen:?}");
}
