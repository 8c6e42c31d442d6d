//! Annotated functions with each kind of lock.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use leasehold::{EndReason, Error, LockManager, ReentrancyScope, distributed_lock};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

#[distributed_lock("prices", manager = locks, mode = "read")]
async fn read(locks: &LockManager) -> Result<(), Error> {
    sleep(SECOND).await;
    Ok(())
}

#[distributed_lock("prices", manager = locks, mode = "write")]
async fn write(locks: &LockManager) -> Result<(), Error> {
    sleep(SECOND).await;
    Ok(())
}

#[distributed_lock("uploads", manager = locks, max_concurrent = permits)]
async fn upload(locks: &LockManager, permits: u32) -> Result<(), Error> {
    sleep(SECOND).await;
    Ok(())
}

#[distributed_lock("{one}", "{other}", manager = locks, contended = "skip")]
async fn both(locks: &LockManager, one: &str, other: &str) -> Result<Option<()>, Error> {
    sleep(SECOND).await;
    Ok(Some(()))
}

#[distributed_lock("order:{id}", manager = locks, reentrant, guard = lock)]
async fn ship(locks: &LockManager, id: u64, depth: u64) -> Result<i64, Error> {
    if depth > 0 {
        assert_eq!(
            Box::pin(ship(locks, id, depth - 1)).await?,
            lock.token().get()
        );
    }
    Ok(lock.token().get())
}

#[distributed_lock("order:{id}", manager = locks, reentrant, lost = "continue")]
async fn ship_plainly(locks: &LockManager, id: u64, lose: bool) -> Result<(), Error> {
    if lose {
        locks.force_release(format!("order:{id}")).await?;
        sleep(SECOND * 20).await;
        return Ok(());
    }
    plain(locks, id).await
}

#[distributed_lock("order:{id}", manager = locks)]
async fn plain(locks: &LockManager, id: u64) -> Result<(), Error> {
    sleep(Duration::from_millis(u64::from(id > 0))).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn readers_run_concurrently_and_writers_exclusively() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let (one, two) = tokio::join!(read(&locks), read(&locks));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(started.elapsed(), SECOND);
    let (one, two, three) = tokio::join!(write(&locks), read(&locks), write(&locks));
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(started.elapsed(), SECOND * 4);
}

#[tokio::test(start_paused = true)]
async fn max_concurrent_limits_concurrent_calls() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let calls = futures_util::future::try_join_all((0..6).map(|_| upload(&locks, 2)));
    calls.await.unwrap();
    assert_eq!(started.elapsed(), SECOND * 3);
    let none = upload(&locks, 0).await;
    assert!(matches!(none, Err(Error::Option(_))));
}

#[tokio::test(start_paused = true)]
async fn several_keys_lock_each_key_in_any_order() {
    let locks = LockManager::in_process();
    let (one, two) = tokio::join!(both(&locks, "a", "b"), both(&locks, "c", "a"));
    assert_eq!((one.unwrap(), two.unwrap()), (Some(()), None));
    let (one, two) = tokio::join!(both(&locks, "b", "a"), both(&locks, "d", "c"));
    assert_eq!((one.unwrap(), two.unwrap()), (Some(()), Some(())));
    assert_eq!(both(&locks, "x", "x").await.unwrap(), Some(()));
    assert!(locks.inspect("a").await.unwrap().is_free());
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_one_of_several_keys_stops_the_body() {
    let locks = LockManager::in_process();
    let thief = async {
        sleep(SECOND / 2).await;
        locks.force_release("b").await.unwrap();
        sleep(SECOND * 20).await;
    };
    let (answer, ()) = tokio::join!(long(&locks), thief);
    let Err(Error::LostInBody(loss)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((loss.completed, loss.lost.reason), (false, EndReason::Gone));
    assert_eq!(loss.lost.key.name(), "b");
    assert!(locks.inspect("a").await.unwrap().is_free());
}

#[distributed_lock("a", "b", manager = locks)]
async fn long(locks: &LockManager) -> Result<(), Error> {
    sleep(SECOND * 3600).await;
    locks.inspect("a").await.map(|_| ())
}

#[tokio::test(start_paused = true)]
async fn reentrant_calls_share_one_token_and_other_calls_wait() {
    let locks = LockManager::in_process();
    let token = ship(&locks, 1, 5).await.unwrap();
    assert!(locks.inspect("order:1").await.unwrap().is_free());
    assert!(ship(&locks, 1, 0).await.unwrap() > token);
    let nested = ship_plainly(&locks, 1, false).await;
    let already_held = |error| matches!(error, Error::AlreadyHeld { .. });
    assert!(
        nested.is_err_and(already_held),
        "a plain one in a reentrant one"
    );

    let scope = ReentrancyScope::new();
    let guard = locks
        .lock("order:1")
        .reentrant(&scope)
        .acquire()
        .await
        .unwrap();
    let inside = scope.enter(ship(&locks, 1, 1)).await.unwrap();
    assert_eq!(inside, guard.token().get());
    assert!(guard.is_valid(), "the scope around it holds on");
    let outside = tokio::time::timeout(SECOND, ship(&locks, 1, 0)).await;
    assert!(outside.is_err(), "side by side they are not in one scope");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn loss_of_a_reentrant_lock_is_returned() {
    let locks = LockManager::in_process();
    let answer = ship_plainly(&locks, 1, true).await;
    let Err(Error::LostInBody(loss)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((loss.completed, loss.lost.reason), (true, EndReason::Gone));
}
