//! The blocking API, called from a thread without an async runtime. Each call blocks that thread.
#![cfg(feature = "blocking")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::thread;
use std::time::{Duration, Instant};

use leasehold::backend::InProcess;
use leasehold::blocking::{BlockingError, LockManager};
use leasehold::{EndReason, Error};

#[test]
fn a_lease_is_renewed_while_the_thread_blocks() {
    let locks = LockManager::in_process().unwrap();
    let ttl = Duration::from_secs(2);
    let guard = locks.lock("k").ttl(ttl).acquire().unwrap();
    thread::sleep(ttl + ttl / 2);
    assert!(guard.is_valid() && guard.key() == "k");
    assert!(locks.lock("k").try_acquire().unwrap().is_none());
    guard.renew().unwrap();
    guard.release().unwrap();
    assert!(locks.lock("k").try_acquire().unwrap().is_some());
    locks.shutdown().unwrap();
}

#[test]
fn managers_of_a_builder_have_its_options() {
    let backend = InProcess::new();
    let ttl = Duration::from_secs(7);
    let builder = |prefix: &str| LockManager::builder().prefix(prefix).ttl(ttl);
    let [here, there, elsewhere] =
        ["shop:", "shop:", "lock:"].map(|prefix| builder(prefix).build(backend.clone()).unwrap());
    let guard = here.lock("k").acquire().unwrap();
    let left = guard.valid_for();
    assert!(left <= ttl && left > ttl / 2, "{left:?}");
    assert!(there.lock("k").try_acquire().unwrap().is_none());
    assert!(elsewhere.lock("k").try_acquire().unwrap().is_some());
    for refused in [
        builder("shop:").connect("nothing://here"),
        builder("shop:").connect_lazily("nothing://here"),
    ] {
        assert!(matches!(refused, Err(Error::Connect(_))), "{refused:?}");
    }
}

#[test]
fn threads_exclude_each_other_with_each_kind_of_lock() {
    let locks = LockManager::in_process().unwrap();
    let first = locks.lock("k").acquire().unwrap();
    let token = first.token();
    let waiting = thread::spawn({
        let locks = locks.clone();
        move || locks.lock("k").wait(Duration::from_secs(9)).acquire()
    });
    drop(first);
    let second = waiting.join().unwrap().unwrap();
    assert!(second.token() > token);
    let begun = Instant::now();
    let busy = locks.lock("k").wait(Duration::from_millis(50)).acquire();
    assert!(busy.unwrap_err().is_busy());
    assert!(begun.elapsed() >= Duration::from_millis(50));
    let prices = locks.rw_lock("r");
    let readers = [prices.read(), prices.read()].map(|it| it.acquire().unwrap());
    assert!(prices.write().try_acquire().unwrap().is_none());
    let permits =
        [locks.semaphore("s", 2), locks.semaphore("s", 2)].map(|it| it.acquire().unwrap());
    assert!(locks.semaphore("s", 2).try_acquire().unwrap().is_none());
    drop((readers, permits));
}

#[test]
fn run_holds_the_lock_and_a_loss_is_returned_as_an_error() {
    let locks = LockManager::in_process().unwrap();
    let ran = locks.lock("k").run(|lock| Ok::<_, Error>(lock.is_valid()));
    assert!(ran.unwrap());
    let lost = locks
        .lock("k")
        .max_hold(Duration::from_millis(500))
        .run(|lock| {
            while lock.is_valid() {
                thread::sleep(Duration::from_millis(1));
            }
            Ok::<_, Error>(())
        });
    let Err(Error::LostInBody(lost)) = lost else {
        panic!("{lost:?}")
    };
    assert_eq!(
        (lost.completed, lost.lost.reason),
        (true, EndReason::MaxHold)
    );
    let guard = locks
        .lock("k")
        .max_hold(Duration::from_millis(500))
        .acquire()
        .unwrap();
    while guard.is_valid() {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(guard.release().unwrap_err().is_lost());
}

#[test]
fn with_a_minimum_hold_time_a_released_lock_stays_taken() {
    let (locks, minimum) = (
        LockManager::in_process().unwrap(),
        Duration::from_millis(80),
    );
    let acquired = Instant::now();
    let guard = locks.lock("k").hold_at_least(minimum).acquire().unwrap();
    guard.release().unwrap();
    drop(locks.lock("k").acquire().unwrap());
    let taken_for = acquired.elapsed();
    assert!(taken_for >= minimum, "{taken_for:?}");
}

#[tokio::test]
async fn a_blocking_call_inside_a_runtime_returns_an_error() {
    let locks = LockManager::in_process().unwrap();
    let refused = locks.lock("k").acquire().unwrap_err();
    assert!(
        matches!(refused, Error::Blocking(BlockingError::InsideRuntime)),
        "{refused:?}"
    );
    assert!(locks.shutdown().is_err());
}
