//! Readers, writers and permits on a real server: the wait times, and the exclusion of other programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::Error;
use redis::aio::MultiplexedConnection;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::server::{Server, waiters};

/// The maximum duration of a hand-off on a busy machine.
const HAND_OFF: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_who_overlap_never_starve_a_writer() {
    const WRITES: usize = 50;
    let server = Server::start().await;
    let locks = server.locks().await;
    let enough = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..8 {
        let (locks, enough) = (locks.clone(), Arc::clone(&enough));
        readers.spawn(async move {
            let mut reads = 0_u32;
            while !enough.load(Ordering::Relaxed) {
                let guard = locks.rw_lock("k").read().acquire().await.unwrap();
                sleep(Duration::from_millis(10)).await;
                guard.release().await.unwrap();
                reads += 1;
            }
            reads
        });
    }
    let mut longest = Duration::ZERO;
    for _ in 0..WRITES {
        sleep(Duration::from_millis(5)).await;
        let asked = Instant::now();
        let guard = locks.lock("k").acquire().await.unwrap();
        longest = longest.max(asked.elapsed());
        guard.release().await.unwrap();
    }
    enough.store(true, Ordering::Relaxed);
    let reads: u32 = readers.join_all().await.into_iter().sum();
    println!(
        "{WRITES} writes beside {reads} reads by 8 tasks; a writer waited {longest:?} at most"
    );
    assert!(reads as usize > WRITES, "{reads}");
    // A writer waits only for earlier readers, not for later ones.
    assert!(
        longest < Duration::from_millis(10) + HAND_OFF,
        "{longest:?}"
    );
}

#[tokio::test]
async fn a_reader_that_died_keeps_a_writer_waiting_for_its_own_lease_only() {
    let server = Server::start().await;
    let (locks, dying) = (server.locks().await, server.locks().await);
    let short = Duration::from_millis(1_500);
    let began = Instant::now();
    let dead = dying.rw_lock("k").read().ttl(short).without_renewal();
    let dead = dead.acquire().await.unwrap();
    std::mem::forget(dead);
    let alive = locks.rw_lock("k").read().ttl(Duration::from_secs(60));
    let alive = alive.acquire().await.unwrap();
    let writer = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    alive.release().await.unwrap();
    let writer = timeout(Duration::from_secs(20), writer).await.unwrap();
    let waited = began.elapsed();
    assert!(writer.unwrap().unwrap().is_valid());
    // The first waiter polls once a second.
    assert!(
        waited >= short && waited < short + Duration::from_secs(1) + HAND_OFF,
        "{waited:?}"
    );
}

#[tokio::test]
async fn a_downgrade_lets_all_waiting_readers_in_within_a_hand_off() {
    let server = Server::start().await;
    let (locks, others) = (server.locks().await, server.locks().await);
    let writer = locks.lock("k").acquire().await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..5 {
        waiting.spawn(others.rw_lock("k").read().acquire());
    }
    waiters(&locks, 5).await;
    let asked = Instant::now();
    let reader = writer.downgrade().await.unwrap();
    let all = timeout(Duration::from_secs(20), waiting.join_all()).await;
    let waited = asked.elapsed();
    assert_eq!(all.unwrap().into_iter().flatten().count(), 5);
    assert!(reader.is_valid());
    assert!(waited < HAND_OFF, "{waited:?}");
}

async fn foreign_lock(raw: &mut MultiplexedConnection) -> bool {
    let mut set = redis::cmd("SET");
    set.arg("lock:k")
        .arg("foreign")
        .arg("NX")
        .arg("PX")
        .arg(600);
    let set: Option<String> = set.query_async(raw).await.unwrap();
    set.is_some()
}

#[tokio::test]
async fn readers_and_programs_in_other_languages_exclude_each_other() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let first = locks.rw_lock("k").read().acquire().await.unwrap();
    let second = locks.rw_lock("k").read().acquire().await.unwrap();
    assert!(!foreign_lock(&mut raw).await);
    first.release().await.unwrap();
    assert!(!foreign_lock(&mut raw).await);
    second.release().await.unwrap();
    assert!(foreign_lock(&mut raw).await);
    assert!(
        locks
            .rw_lock("k")
            .read()
            .try_acquire()
            .await
            .unwrap()
            .is_none()
    );
    let reader = locks.rw_lock("k").read().acquire().await.unwrap();
    assert!(!foreign_lock(&mut raw).await);
    drop(reader);
}

#[tokio::test]
async fn a_reader_that_left_keeps_nobody_out_for_what_remained_of_its_lease() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let short = Duration::from_millis(500);
    let dying = locks.rw_lock("k").read().ttl(short).without_renewal();
    let dying = dying.acquire().await.unwrap();
    let long = locks.rw_lock("k").read().ttl(Duration::from_secs(60));
    long.acquire().await.unwrap().release().await.unwrap();
    assert!(!foreign_lock(&mut raw).await);
    // A program that only checks the key sees the remaining lease.
    let began = Instant::now();
    while !foreign_lock(&mut raw).await {
        assert!(began.elapsed() < short + HAND_OFF, "{:?}", began.elapsed());
        sleep(Duration::from_millis(20)).await;
    }
    drop(dying);
}

#[tokio::test]
async fn a_semaphore_and_a_lock_on_one_key_are_an_error() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let permit = locks.semaphore("k", 3).acquire().await.unwrap();
    let mixed = locks.lock("k").acquire().await;
    assert!(matches!(mixed, Err(Error::OtherKind { .. })), "{mixed:?}");
    assert!(!foreign_lock(&mut raw).await);
    permit.release().await.unwrap();
    assert!(foreign_lock(&mut raw).await);
    let mixed = locks.semaphore("k", 3).acquire().await;
    assert!(matches!(mixed, Err(Error::OtherKind { .. })), "{mixed:?}");
}

#[tokio::test]
async fn what_is_shared_leaves_its_counter_and_no_key_is_without_a_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let readers = [
        locks.rw_lock("k").read().acquire().await.unwrap(),
        locks.rw_lock("k").read().acquire().await.unwrap(),
    ];
    let permits = locks.semaphore("s", 9).acquire_many(4).await.unwrap();
    let mut raw = server.raw().await;
    let keys = async |raw: &mut MultiplexedConnection| -> Vec<String> {
        let mut keys = redis::cmd("KEYS");
        keys.arg("*").query_async(raw).await.unwrap()
    };
    let held = keys(&mut raw).await;
    assert_eq!(held.len(), 6, "{held:?}");
    for key in held {
        let mut ttl = redis::cmd("PTTL");
        let ttl: i64 = ttl.arg(&key).query_async(&mut raw).await.unwrap();
        assert!(ttl > 0, "{key}");
    }
    for reader in readers {
        reader.release().await.unwrap();
    }
    permits.release().await.unwrap();
    let left = keys(&mut raw).await;
    assert!(
        left.len() == 2 && left.iter().all(|key| key.ends_with(":lh1:fence")),
        "{left:?}"
    );
}

#[tokio::test]
async fn readers_outlive_a_server_that_has_no_memory_left() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let ttl = Duration::from_millis(900);
    let reader = locks.rw_lock("k").read().ttl(ttl).acquire().await.unwrap();
    let permit = locks.semaphore("s", 2).ttl(ttl).acquire().await.unwrap();
    let mut full = redis::cmd("CONFIG");
    full.arg("SET").arg("maxmemory").arg("1");
    let _ok: String = full.query_async(&mut raw).await.unwrap();
    sleep(ttl * 3).await;
    assert!(reader.is_valid() && permit.is_valid());
    reader.release().await.unwrap();
    permit.release().await.unwrap();
    assert!(locks.inspect("k").await.unwrap().is_free());
    assert!(locks.inspect("s").await.unwrap().is_free());
}

#[tokio::test]
async fn readers_that_waited_and_were_let_in_together_all_keep_the_lock() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let writer = locks.lock("k").acquire().await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        waiting.spawn(locks.rw_lock("k").read().acquire());
    }
    waiters(&locks, 3).await;
    writer.release().await.unwrap();
    let readers = waiting.join_all().await;
    for reader in readers {
        let reader = reader.unwrap();
        reader.renew().await.unwrap();
        reader.release().await.unwrap();
    }
}
