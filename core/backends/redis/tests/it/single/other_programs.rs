//! Programs in other languages lock with `SET key id NX PX` and release by comparing and deleting.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::Instant;

use crate::single::server::{Server, waiters};

async fn foreign_lock(raw: &mut MultiplexedConnection, key: &str, id: &str) -> bool {
    let mut set = redis::cmd("SET");
    set.arg(key).arg(id).arg("NX").arg("PX").arg(30_000);
    let set: Option<String> = set.query_async(raw).await.unwrap();
    set.is_some()
}

/// Returns an id as many programs generate it: bytes that are not text.
fn bytes() -> Vec<u8> {
    let random = std::iter::repeat_with(|| fastrand::u8(..));
    std::iter::once(0xff).chain(random).take(20).collect()
}

async fn foreign_unlock(raw: &mut MultiplexedConnection, key: &str, id: &str) -> bool {
    let script = redis::Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    );
    let deleted: u8 = script.key(key).arg(id).invoke_async(raw).await.unwrap();
    deleted == 1
}

#[tokio::test]
async fn a_lock_of_this_crate_excludes_other_programs() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let guard = locks.lock("k").acquire().await.unwrap();
    assert!(!foreign_lock(&mut raw, "lock:k", "foreign").await);
    assert!(!foreign_unlock(&mut raw, "lock:k", "foreign").await);
    assert!(guard.renew().await.is_ok());
    guard.release().await.unwrap();
    assert!(foreign_lock(&mut raw, "lock:k", "foreign").await);
}

#[tokio::test]
async fn a_lock_of_another_program_excludes_us_and_we_wait_for_it() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    assert!(foreign_lock(&mut raw, "lock:k", "foreign").await);
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!((seen.owner.as_deref(), seen.token), (Some("foreign"), None));

    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    assert!(!waiting.is_finished());
    let released = Instant::now();
    assert!(foreign_unlock(&mut raw, "lock:k", "foreign").await);
    // Such a program sends no notification, so the first waiter polls once a second.
    let guard = waiting.await.unwrap().unwrap();
    assert!(
        released.elapsed() < Duration::from_secs(10),
        "{:?}",
        released.elapsed()
    );
    assert!(!foreign_lock(&mut raw, "lock:k", "foreign").await);
    drop(guard);
}

#[tokio::test]
async fn another_program_cannot_acquire_between_a_release_and_our_waiter() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    guard.release().await.unwrap();
    assert!(!foreign_lock(&mut raw, "lock:k", "foreign").await);
    drop(waiting.await.unwrap().unwrap());
}

#[tokio::test]
async fn rslock_and_this_crate_exclude_each_other() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let theirs = rslock::LockManager::new(vec![server.url()]);
    let ttl = Duration::from_secs(30);

    let guard = locks.lock("k").acquire().await.unwrap();
    assert!(theirs.lock("lock:k", ttl).await.is_err());
    guard.release().await.unwrap();

    let held = theirs.lock("lock:k", ttl).await.unwrap();
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(locks.lock("k").acquire());
    theirs.unlock(&held).await;
    drop(waiting.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_holder_whose_id_is_not_utf8_excludes_us_and_is_shown() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let id = bytes();
    let mut set = redis::cmd("SET");
    set.arg("lock:k").arg(&id).arg("PX").arg(30_000);
    set.exec_async(&mut raw).await.unwrap();
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    let seen = locks.inspect("k").await.unwrap();
    let shown = String::from_utf8_lossy(&id);
    assert_eq!((seen.owner.as_deref(), seen.token), (Some(&*shown), None));
    assert!(seen.expires_in.is_some() && seen.holders == 1, "{seen:?}");
}
