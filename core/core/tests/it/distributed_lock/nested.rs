//! A call that needs a lock that its task already holds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use leasehold::{Error, LockManager, distributed_lock};

#[distributed_lock("order:{id}", manager = locks)]
async fn outer(locks: &LockManager, id: u64, inner: u64) -> Result<u64, Error> {
    in_between(locks, inner).await
}

/// Not annotated, because the check applies to the whole task.
async fn in_between(locks: &LockManager, id: u64) -> Result<u64, Error> {
    Box::pin(inner(locks, id)).await
}

#[distributed_lock("order:{id}", manager = locks)]
async fn inner(locks: &LockManager, id: u64) -> Result<u64, Error> {
    Ok(id)
}

#[distributed_lock("order:{id}", manager = locks, lost = "continue")]
async fn skipping(locks: &LockManager, id: u64, deep: bool) -> Result<Option<u64>, Error> {
    if deep {
        return inner_skipping(locks, id).await;
    }
    Ok(Some(id))
}

#[distributed_lock("order:{id}", manager = locks, contended = "skip")]
async fn inner_skipping(locks: &LockManager, id: u64) -> Result<Option<u64>, Error> {
    Ok(Some(id))
}

fn assert_already_held<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let Err(error @ Error::AlreadyHeld { .. }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        error.to_string(),
        "acquiring `order:1` failed: this task already holds it; call a function that does not lock, or use a reentrant lock"
    );
}

#[tokio::test(start_paused = true)]
async fn nested_call_with_the_same_key_returns_already_held() {
    let locks = LockManager::in_process();
    let started = tokio::time::Instant::now();
    assert_already_held(outer(&locks, 1, 1).await);
    assert_already_held(skipping(&locks, 1, true).await);
    assert_eq!(started.elapsed(), std::time::Duration::ZERO);
    assert_eq!(outer(&locks, 1, 2).await.unwrap(), 2);
    assert_eq!(skipping(&locks, 1, false).await.unwrap(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn call_inside_the_scope_of_its_lock_returns_already_held() {
    let locks = LockManager::in_process();
    let guard = locks.lock("order:1").acquire().await.unwrap();
    let clone = locks.clone();
    assert_already_held(guard.handle().scope(inner(&clone, 1)).await);
    assert_eq!(guard.handle().scope(inner(&clone, 2)).await.unwrap(), 2);
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_in_one_task_take_turns() {
    let locks = LockManager::in_process();
    let (first, second) = tokio::join!(inner(&locks, 1), inner(&locks, 1));
    assert_eq!((first.unwrap(), second.unwrap()), (1, 1));
}
