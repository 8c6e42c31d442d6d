//! Minimum hold times on a real server: what its waiters notice, and requests that arrive late.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold::conformance::{BackendCall, Command, Fault, Faulty};
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::time::{Instant, sleep};

use crate::single::server::{Server, waiters};

/// The first waiter polls once a second, and otherwise when the lease that it has seen ends.
const FIRST_LOOKS: Duration = Duration::from_secs(1);

async fn is_free(locks: &LockManager) -> bool {
    locks.inspect("k").await.unwrap().is_free()
}

#[tokio::test]
async fn the_first_waiter_acquires_soon_after_the_minimum_hold_time() {
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    // In the first case the waiter does not poll between the release and the end, and in the second case it does.
    for (minimum, latest) in [(600, FIRST_LOOKS), (2_500, Duration::from_millis(200))] {
        let minimum = Duration::from_millis(minimum);
        for waiter in [&here, &there] {
            let mut all = Vec::new();
            // A busy machine may be late in some rounds.
            while all
                .last()
                .is_none_or(|late| *late >= latest + FIRST_LOOKS / 2)
            {
                assert!(all.len() < 10, "late in each round: {all:?}");
                let lock = here.lock("k").hold_at_least(minimum);
                let asked = Instant::now();
                let guard = lock.acquire().await.unwrap();
                let acquired = Instant::now();
                let waiting = tokio::spawn(waiter.lock("k").acquire());
                waiters(&here, 1).await;
                guard.release().await.unwrap();
                let next = waiting.await.unwrap().unwrap();
                assert!(asked.elapsed() >= minimum, "{:?}", asked.elapsed());
                let late = acquired.elapsed().saturating_sub(minimum);
                println!("a minimum of {minimum:?}: served {late:?} after its end");
                all.push(late);
                next.release().await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_request_delivered_after_the_minimum_hold_time_acquires_nothing() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let (locks, other) = (
        LockManager::new(Redis::connect(&url).await.unwrap()),
        server.locks().await,
    );
    // The first request has no reply, and the lock is granted to its duplicate.
    proxy.hold_requests(Which::mentioning("lock:k").times(1));
    let lock = locks.lock("k").hold_at_least(Duration::from_secs(3));
    let acquire = tokio::spawn(lock.acquire());
    proxy
        .until("the request is held", |s| s.held >= 1)
        .await
        .unwrap();
    proxy.cut();
    let guard = acquire.await.unwrap().unwrap();
    guard.release().await.unwrap();
    assert!(!is_free(&other).await);
    let started = Instant::now();
    while !is_free(&other).await {
        assert!(
            started.elapsed() < Duration::from_secs(25),
            "it stays taken"
        );
        sleep(Duration::from_millis(10)).await;
    }
    proxy.deliver_held().await.unwrap();
    // A reply to a later request shows that the server has executed the delivered request.
    assert!(is_free(&other).await);
    drop(other.lock("k").try_acquire().await.unwrap().unwrap());
}

#[tokio::test]
async fn a_release_whose_reply_is_lost_keeps_the_minimum_hold_time() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let (locks, other) = (
        LockManager::new(Redis::connect(&url).await.unwrap()),
        server.locks().await,
    );
    let minimum = Duration::from_secs(4);
    let begin = Instant::now();
    let guard = locks.lock("k").hold_at_least(minimum).acquire().await;
    proxy.lose_replies(Which::mentioning("lock:k").times(1));
    // The manager retries after the command timeout of two seconds.
    let _outcome = guard.unwrap().release().await;
    while !is_free(&other).await {
        let taken_for = begin.elapsed();
        // The TTL is 30 s.
        assert!(taken_for < minimum + FIRST_LOOKS * 10, "{taken_for:?}");
        sleep(Duration::from_millis(5)).await;
    }
    assert!(begin.elapsed() >= minimum, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_holder_that_crashes_just_after_a_hand_off_leaves_the_lock_taken() {
    let server = Server::start().await;
    let (url, minimum) = (server.url(), Duration::from_secs(4));
    // The process that crashes is a runtime that ends together with its watchdog.
    let process = std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(async {
            let locks = LockManager::new(Redis::connect(&url).await.unwrap());
            let first = locks.lock("k").acquire().await.unwrap();
            let lock = locks.lock("k").ttl(minimum / 2).hold_at_least(minimum);
            let waiting = tokio::spawn(lock.acquire());
            waiters(&locks, 1).await;
            // The lease of a crashed holder counts from its grant, which comes after this moment.
            let before = std::time::Instant::now();
            first.release().await.unwrap();
            std::mem::forget(waiting.await.unwrap().unwrap());
            before
        })
    });
    let before = process.join().unwrap();
    let other = server.locks().await;
    let next = other.lock("k").acquire().await.unwrap();
    let taken_for = before.elapsed();
    assert!(
        taken_for >= minimum && taken_for < minimum * 7,
        "{taken_for:?}"
    );
    next.release().await.unwrap();
}

#[tokio::test]
async fn a_downgrade_without_a_reply_does_not_keep_the_lock_for_its_ttl() {
    let server = Server::start().await;
    let backend = Redis::connect(&server.url()).await.unwrap();
    let loses_it = |call: &BackendCall| match call.command {
        Command::Downgrade => Fault::LoseAnswer,
        _ => Fault::None,
    };
    let (here, there) = (
        LockManager::new(Faulty::new(backend, loses_it)),
        server.locks().await,
    );
    let minimum = Duration::from_millis(500);
    let acquired = Instant::now();
    let writer = here.lock("k").hold_at_least(minimum).acquire().await;
    writer.unwrap().downgrade().await.unwrap_err();
    // The TTL is 30 s.
    let next = there
        .lock("k")
        .wait(Duration::from_secs(20))
        .acquire()
        .await;
    next.unwrap().release().await.unwrap();
    assert!(acquired.elapsed() >= minimum);
}
