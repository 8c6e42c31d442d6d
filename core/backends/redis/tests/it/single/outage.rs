//! A server that dies, loses its data, and restarts.

use std::time::Duration;

use leasehold::backend::Applied;
use leasehold::{EndReason, Error, LockManager};
use leasehold_testkit::servers::RedisBuilder;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::single::server::{Server, waiters};
use crate::single::server_errors::whole;

/// Waiters that do not notice a restart poll after eleven seconds.
const AT_THE_RESTART: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_guard_survives_an_outage_shorter_than_its_lease() {
    let server = Server::with(RedisBuilder::keeps_data).await;
    let locks = server.locks().await;
    // Much longer than a restart.
    let ttl = Duration::from_secs(9);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    server.kill();
    sleep(Duration::from_millis(600)).await;
    server.start_again().await;
    sleep(ttl + ttl / 3).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_guard_is_lost_by_its_deadline_if_the_server_stays_down() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let ttl = Duration::from_secs(2);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    server.kill();
    // No later renewal has a reply.
    let (deadline, ended) = (Instant::now() + ttl, guard.ended());
    sleep_until(deadline).await;
    // This holds however late this task runs.
    assert!(!guard.is_valid());
    assert_eq!(ended.await.reason, EndReason::Expired);
}

#[tokio::test]
async fn a_server_that_lost_its_data_ends_the_guard_and_tokens_still_increase() {
    let server = Server::start().await;
    let locks = server.locks().await;
    // Much longer than a restart.
    let ttl = Duration::from_secs(60);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    server.kill();
    server.start_empty().await;
    let lost = guard.ended().await;
    assert_eq!(lost.reason, EndReason::Gone);
    let next = locks.lock("k").acquire().await.unwrap();
    assert!(
        Some(next.token()) > lost.token,
        "{} after {}",
        next.token(),
        lost.token.unwrap()
    );
}

#[tokio::test]
async fn an_outage_is_an_error_within_its_time_limit_and_leaves_no_lock() {
    let server = Server::start().await;
    let retry = Duration::from_secs(60);
    let locks = LockManager::builder().backend_retry_timeout(retry);
    let locks = locks.connect(&server.url()).await.unwrap();
    server.kill();
    let started = Instant::now();
    let tried = locks.lock("k").try_acquire().await;
    assert!(matches!(tried, Err(Error::Backend { .. })), "{tried:?}");
    let wait = Duration::from_secs(1);
    let waited = locks.lock("k").wait(wait).acquire().await;
    assert!(matches!(waited, Err(Error::Backend { .. })), "{waited:?}");
    assert!(started.elapsed() < retry / 2, "{:?}", started.elapsed());
    server.start_again().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    guard.release().await.unwrap();
    assert!(locks.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn waiters_outlive_a_restart_of_the_server() {
    let server = Server::start().await;
    let (locks, other) = (server.locks().await, server.locks().await);
    let guard = other.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    server.kill();
    sleep(Duration::from_millis(500)).await;
    server.start_again().await;
    drop(guard);
    let started = Instant::now();
    drop(waiting.await.unwrap().unwrap());
    assert!(
        started.elapsed() < AT_THE_RESTART,
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn the_scripts_are_loaded_again_after_a_script_flush() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let guard = locks.lock("k").acquire().await.unwrap();
    let flush = || redis::cmd("SCRIPT").arg("FLUSH").to_owned();
    flush().exec_async(&mut raw).await.unwrap();
    guard.renew().await.unwrap();
    flush().exec_async(&mut raw).await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn held_locks_are_checked_as_soon_as_the_server_is_back() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let ttl = Duration::from_secs(60);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    server.kill();
    server.start_empty().await;
    // The next renewal is due after 20 s.
    let lost = timeout(Duration::from_secs(15), guard.ended()).await;
    assert_eq!(lost.unwrap().reason, EndReason::Gone);
}

#[tokio::test]
async fn all_waiters_queue_again_as_soon_as_the_server_is_back() {
    let server = Server::start().await;
    let (locks, other) = (server.locks().await, server.locks().await);
    let guard = other.lock("k").acquire().await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        waiting.spawn(locks.lock("k").acquire());
    }
    waiters(&locks, 3).await;
    server.kill();
    server.start_again().await;
    drop(guard);
    let begin = Instant::now();
    let next = waiting.join_next().await.unwrap().unwrap().unwrap();
    waiters(&server.locks().await, 2).await;
    assert!(begin.elapsed() < AT_THE_RESTART, "{:?}", begin.elapsed());
    drop(next);
    while let Some(next) = waiting.join_next().await {
        drop(next.unwrap().unwrap());
    }
}

#[tokio::test]
async fn requests_to_a_server_that_loads_its_data_fail_as_not_applied() {
    const KEYS: usize = 3_000;
    let server = Server::with(|server| {
        let slow = ["--key-load-delay", "1000"];
        let talkative = ["--loading-process-events-interval-bytes", "1024"];
        let add = |server: RedisBuilder, word| server.arg(word);
        slow.into_iter()
            .chain(talkative)
            .fold(server.keeps_data(), add)
    })
    .await;
    let mut data = redis::pipe();
    for key in 0..KEYS {
        data.set(format!("data:{key}"), "x".repeat(100)).ignore();
    }
    data.exec_async(&mut server.raw().await).await.unwrap();
    // While loading a single snapshot, a server replies to clients more often.
    let rewrite = redis::cmd("BGREWRITEAOF");
    rewrite.exec_async(&mut server.raw().await).await.unwrap();
    while !info(&server).await.contains("aof_rewrite_in_progress:0") {
        sleep(Duration::from_millis(5)).await;
    }
    let locks = server.locks().await;
    let ttl = Duration::from_secs(30);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    let refused = async {
        loop {
            let tried = locks.lock("other").try_acquire().await;
            let said = tried.as_ref().err().map(|error| whole(error));
            match said {
                Some(said) if said.contains("loading") => return tried,
                _ => sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let refused = timeout(Duration::from_secs(60), refused);
    let (_, refused) = tokio::join!(server.start_again(), refused);
    let refused = refused.expect("it should say that it loads");
    assert!(matches!(
        refused,
        Err(Error::Backend {
            applied: Applied::No,
            ..
        })
    ));
    guard.release().await.unwrap();
}

async fn info(server: &Server) -> String {
    let info = redis::cmd("INFO");
    info.query_async(&mut server.raw().await).await.unwrap()
}

#[tokio::test]
async fn waiters_whose_positions_were_flushed_are_served_after_the_next_poll() {
    const WAITERS: usize = 12;
    for held_by_their_process in [true, false] {
        let server = Server::start().await;
        let (locks, other) = (server.locks().await, server.locks().await);
        let holder = if held_by_their_process {
            &locks
        } else {
            &other
        };
        let guard = holder.lock("k").acquire().await.unwrap();
        let mut waiting = JoinSet::new();
        for _ in 0..WAITERS {
            let acquire = locks.lock("k").acquire();
            waiting.spawn(async { acquire.await.unwrap().release().await });
        }
        waiters(&locks, WAITERS).await;
        let flush = redis::cmd("FLUSHALL");
        flush.exec_async(&mut server.raw().await).await.unwrap();
        drop(guard);
        let begin = Instant::now();
        while let Some(served) = waiting.join_next().await {
            served.unwrap().unwrap();
        }
        let took = begin.elapsed();
        println!("held by their process, {held_by_their_process}: {took:?}");
        // The first waiter polls after a second, and the others would poll after eleven seconds.
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
