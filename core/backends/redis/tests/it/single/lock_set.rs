//! Several keys as one lock, on a real server.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::depth;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use tokio::time::{Instant, sleep, timeout};

use crate::single::server::Server;

const TASKS: u64 = 16;
const KEYS: [&str; 10] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"];

/// How long the tasks run in `cargo test`, in seconds.
const SECONDS: u64 = 2;

async fn all_free(locks: &LockManager) -> bool {
    for key in KEYS {
        if !locks.inspect(key).await.unwrap().is_free() {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn a_set_of_free_locks_needs_one_round_trip_and_one_command_per_key() {
    let server = Server::start().await;
    let other = server.locks().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let locks = LockManager::new(Redis::connect(&url).await.unwrap());
    // After this call the server has cached the scripts, and the connections are open.
    locks
        .lock("k9")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();

    proxy.set(Direction::ToClient, Traffic::Hold);
    let acquire = tokio::spawn(locks.lock_all(&KEYS[..5]).acquire());
    // All keys are requested before the first reply arrives.
    for key in &KEYS[..5] {
        let look = async {
            while other.inspect(key).await.unwrap().is_free() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(10), look).await.unwrap();
    }
    assert!(!acquire.is_finished());
    let looks = server.scripts().await;
    proxy.deliver_held().await.unwrap();
    let guard = acquire.await.unwrap().unwrap();
    assert_eq!(server.scripts().await, looks, "nothing more was asked");
    guard.release().await.unwrap();

    let quiet = server.scripts().await;
    let guard = locks.lock_all(&KEYS[..5]).acquire().await.unwrap();
    let acquired = server.scripts().await;
    assert!(acquired - quiet <= 5, "one per key at most");
    guard.release().await.unwrap();
    assert!(server.scripts().await - acquired <= 5);
}

#[derive(Debug, Default)]
struct Tally {
    acquired: u64,
    cancelled: u64,
    longest: Duration,
}

/// Locks random pairs, and drops some of the acquires at random points.
async fn lock_pairs(
    seed: u64,
    locks: LockManager,
    inside: Arc<HashMap<&'static str, AtomicBool>>,
    until: Instant,
) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::default();
    // On a busy machine, a task may acquire its first pair late.
    while Instant::now() < until || tally.acquired == 0 {
        let pair = random.choose_multiple(KEYS, 2);
        let started = Instant::now();
        let acquire = locks.lock_all(&pair).acquire();
        let guard = if random.u8(..4) == 0 {
            match timeout(Duration::from_micros(random.u64(..8000)), acquire).await {
                Ok(granted) => granted.unwrap(),
                Err(_dropped) => {
                    tally.cancelled += 1;
                    continue;
                }
            }
        } else {
            acquire.await.unwrap()
        };
        tally.longest = tally.longest.max(started.elapsed());
        tally.acquired += 1;
        for key in &pair {
            assert!(!inside[key].swap(true, Ordering::SeqCst), "two in {key}");
        }
        sleep(Duration::from_micros(random.u64(..500))).await;
        for key in &pair {
            inside[key].store(false, Ordering::SeqCst);
        }
        guard.release().await.unwrap();
    }
    tally
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_tasks_with_random_pairs_do_not_deadlock_or_leave_locks() {
    let server = Server::start().await;
    let duration = depth::seconds(SECONDS);
    let until = Instant::now() + duration;
    let inside: HashMap<_, _> = KEYS.map(|key| (key, AtomicBool::new(false))).into();
    let inside = Arc::new(inside);
    // Half of the tasks share a manager and its connection.
    let shared = server.locks().await;
    let mut tasks = Vec::new();
    for seed in 0..TASKS {
        let locks = match seed % 2 {
            0 => shared.clone(),
            _ => server.locks().await,
        };
        tasks.push(tokio::spawn(lock_pairs(
            seed,
            locks,
            Arc::clone(&inside),
            until,
        )));
    }
    let mut sum = Tally::default();
    for task in tasks {
        let last = timeout(duration + Duration::from_secs(20), task).await;
        let tally = last.expect("a task that never acquires").unwrap();
        sum.acquired += tally.acquired;
        sum.cancelled += tally.cancelled;
        sum.longest = sum.longest.max(tally.longest);
    }
    let ended = Instant::now();
    while !all_free(&shared).await {
        assert!(
            ended.elapsed() < Duration::from_secs(5),
            "something partial is left"
        );
        sleep(Duration::from_millis(10)).await;
    }
    println!(
        "{TASKS} tasks, {duration:?}: {} pairs, {} given up, longest wait {:?}, all free after {:?}",
        sum.acquired,
        sum.cancelled,
        sum.longest,
        ended.elapsed()
    );
    assert!(sum.cancelled > 0);
}
