//! Managers that connect with their first operation.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::poll;
use leasehold::LockManager;
use leasehold::backend::{BackendError, ConnectError, InProcess};
use tokio::join;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, timeout};

use crate::named_backend;

/// Adds a backend whose connects take longer than a command, and fail until `failures` have failed. Returns the
/// number of connects.
fn add_slow(url: &str, failures: usize) -> Arc<AtomicUsize> {
    let connects = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connects);
    named_backend::add(url, move || {
        let earlier = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(Duration::from_secs(3)).await;
            match earlier < failures {
                false => Ok(InProcess::new()),
                true => Err(ConnectError::Server {
                    address: "db:1".to_owned(),
                    source: BackendError::not_applied("it starts"),
                }),
            }
        }
    });
    connects
}

#[tokio::test(start_paused = true)]
async fn operations_of_a_lazy_manager_share_a_connect_that_takes_longer_than_a_command() {
    let connects = add_slow("named:slow", 0);
    let locks = LockManager::builder().connect_lazily("named:slow").unwrap();
    assert_eq!(connects.load(Ordering::Relaxed), 0);
    let (one, other) = (locks.lock("one").acquire(), locks.lock("other").acquire());
    let (one, other) = join!(one, other);
    one.unwrap().release().await.unwrap();
    other.unwrap().release().await.unwrap();
    assert_eq!(connects.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lazy_manager_connects_again_after_a_failure() {
    let connects = add_slow("named:slow-and-failing", 2);
    let locks = LockManager::builder().backend_retry_timeout(Duration::MAX);
    let locks = locks.connect_lazily("named:slow-and-failing").unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(connects.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_connect_continues_after_its_callers_have_given_up() {
    let connects = add_slow("named:slow-and-alone", 0);
    let locks = LockManager::builder()
        .connect_lazily("named:slow-and-alone")
        .unwrap();
    locks.lock("k").try_acquire().await.unwrap_err();
    sleep(Duration::from_secs(60)).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
    assert_eq!(connects.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_during_a_connect_does_not_wait_and_is_final() {
    let connects = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connects);
    named_backend::add("named:silent", move || {
        counted.fetch_add(1, Ordering::Relaxed);
        pending::<Result<InProcess, ConnectError>>()
    });
    let locks = LockManager::builder()
        .connect_lazily("named:silent")
        .unwrap();
    let acquire = locks.lock("k").acquire();
    assert!(timeout(Duration::from_secs(9), acquire).await.is_err());
    let started = Instant::now();
    locks.shutdown().await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(10));
    assert!(!locks.inspect("k").await.unwrap_err().is_temporary());
    assert_eq!(connects.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_operation_after_a_connect_that_panicked_connects_again() {
    let connects = AtomicUsize::new(0);
    named_backend::add("named:panicking", move || {
        let is_first = connects.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            assert!(!is_first, "a bug in a connect");
            Ok(InProcess::new())
        }
    });
    let locks = LockManager::builder()
        .connect_lazily("named:panicking")
        .unwrap();
    let failed = locks.lock("k").try_acquire().await.unwrap_err();
    assert!(failed.is_temporary(), "{failed}");
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}

#[test]
fn a_connect_of_a_stalled_or_ended_runtime_does_not_block_callers_on_others() {
    let runtime = || Builder::new_current_thread().enable_time().build().unwrap();
    let (still, here): (Runtime, Runtime) = (runtime(), runtime());
    let connects = AtomicUsize::new(0);
    named_backend::add("named:stalled", move || {
        let is_first = connects.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if is_first {
                pending::<()>().await;
            }
            Ok(InProcess::new())
        }
    });
    let locks = LockManager::builder()
        .connect_lazily("named:stalled")
        .unwrap();
    let mut waiting = Box::pin(locks.lock("a").acquire());
    still.block_on(async { assert!(poll!(&mut waiting).is_pending()) });
    let acquire = async || locks.lock("b").acquire().await.unwrap().release().await;
    here.block_on(acquire()).unwrap();
    drop(still);
    here.block_on(acquire()).unwrap();
}
