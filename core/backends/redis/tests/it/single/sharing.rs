//! Readers, writers and permits on a real server: the wait times, and the exclusion of other programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use leasehold::Error;
use redis::aio::MultiplexedConnection;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::single::server::{Server, waiters};

/// The maximum duration of a hand-off.
const HAND_OFF: Duration = Duration::from_millis(500);

/// The number of rounds in which a busy machine may be late.
const ROUNDS: usize = 20;

/// How long another program holds the lock.
const FOREIGN_MS: u64 = 3_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn overlapping_readers_never_starve_a_writer() {
    const WRITES: usize = 50;
    const READERS: usize = 8;
    let server = Server::start().await;
    let locks = server.locks().await;
    let (enough, reads) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let (locks, enough, reads) = (locks.clone(), Arc::clone(&enough), Arc::clone(&reads));
        readers.spawn(async move {
            while !enough.load(Ordering::Relaxed) {
                let guard = locks.rw_lock("k").read().acquire().await.unwrap();
                reads.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(10)).await;
                guard.release().await.unwrap();
            }
        });
    }
    let (mut waits, mut overtaking) = (Vec::new(), Vec::new());
    for _ in 0..WRITES {
        sleep(Duration::from_millis(5)).await;
        let (asked, before) = (Instant::now(), reads.load(Ordering::Relaxed));
        let guard = locks.lock("k").acquire().await.unwrap();
        waits.push(asked.elapsed());
        overtaking.push(reads.load(Ordering::Relaxed) - before);
        guard.release().await.unwrap();
    }
    enough.store(true, Ordering::Relaxed);
    readers.join_all().await;
    let reads = reads.load(Ordering::Relaxed);
    waits.sort_unstable();
    overtaking.sort_unstable();
    println!(
        "{WRITES} writes beside {reads} reads by {READERS} tasks; a writer waited {:?} at most, and {} reads began \
         meanwhile at most",
        waits[WRITES - 1],
        overtaking[WRITES - 1]
    );
    assert!(reads > WRITES, "{reads}");
    // A writer waits only for earlier readers, not for later ones. Each task may have sent a request before the writer's.
    // A busy machine delays some writers.
    assert!(overtaking[WRITES / 2] <= READERS * 2, "{overtaking:?}");
    assert!(
        waits[WRITES / 2] < Duration::from_millis(10) + HAND_OFF,
        "{waits:?}"
    );
}

#[tokio::test]
async fn a_crashed_reader_blocks_a_writer_only_for_its_own_lease() {
    let server = Server::start().await;
    let (locks, dying) = (server.locks().await, server.locks().await);
    let short = Duration::from_millis(1_500);
    let mut late = Vec::new();
    while late.len() < ROUNDS {
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
        let writer = writer.unwrap().unwrap();
        assert!(writer.is_valid());
        writer.release().await.unwrap();
        assert!(waited >= short, "{waited:?}");
        // The first waiter polls once a second.
        if waited < short + Duration::from_secs(1) + HAND_OFF {
            return;
        }
        late.push(waited);
    }
    panic!("late in each round: {late:?}");
}

#[tokio::test]
async fn all_waiting_readers_acquire_soon_after_a_downgrade() {
    let server = Server::start().await;
    let (locks, others) = (server.locks().await, server.locks().await);
    let mut late = Vec::new();
    while late.len() < ROUNDS {
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
        if waited < HAND_OFF {
            return;
        }
        late.push(waited);
        reader.release().await.unwrap();
    }
    panic!("late in each round: {late:?}");
}

async fn foreign_lock(raw: &mut MultiplexedConnection) -> bool {
    let mut set = redis::cmd("SET");
    set.arg("lock:k")
        .arg("foreign")
        .arg("NX")
        .arg("PX")
        .arg(FOREIGN_MS);
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
async fn a_released_reader_does_not_block_others_for_its_remaining_lease() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let short = Duration::from_millis(500);
    let mut late = Vec::new();
    while late.len() < ROUNDS {
        let asked = Instant::now();
        let dying = locks.rw_lock("k").read().ttl(short).without_renewal();
        let _dying = dying.acquire().await.unwrap();
        let long = locks.rw_lock("k").read().ttl(Duration::from_secs(60));
        long.acquire().await.unwrap().release().await.unwrap();
        let is_free = foreign_lock(&mut raw).await;
        let waited = asked.elapsed();
        if is_free {
            assert!(waited >= short, "free after {waited:?}");
            late.push(waited);
            continue;
        }
        // A program that only checks the key sees the remaining lease.
        let began = Instant::now();
        while !foreign_lock(&mut raw).await {
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(30), "still {waited:?}");
            sleep(Duration::from_millis(20)).await;
        }
        if began.elapsed() < short + HAND_OFF {
            return;
        }
        late.push(began.elapsed());
    }
    panic!("late in each round: {late:?}");
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
async fn shared_locks_leave_only_their_counters_and_each_key_has_a_ttl() {
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
async fn readers_and_permits_keep_their_lock_on_a_server_without_memory() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let ttl = Duration::from_secs(3);
    let reader = locks.rw_lock("k").read().ttl(ttl).acquire().await.unwrap();
    let permit = locks.semaphore("s", 2).ttl(ttl).acquire().await.unwrap();
    let mut full = redis::cmd("CONFIG");
    full.arg("SET").arg("maxmemory").arg("1");
    let _ok: String = full.query_async(&mut raw).await.unwrap();
    sleep(ttl + ttl / 3).await;
    assert!(reader.is_valid() && permit.is_valid());
    reader.release().await.unwrap();
    permit.release().await.unwrap();
    assert!(locks.inspect("k").await.unwrap().is_free());
    assert!(locks.inspect("s").await.unwrap().is_free());
}

#[tokio::test]
async fn waiting_readers_that_are_granted_together_all_keep_the_lock() {
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
