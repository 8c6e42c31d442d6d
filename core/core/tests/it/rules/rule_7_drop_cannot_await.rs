use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leasehold::backend::{Backend, InProcess};
use leasehold::conformance::{Command, Fault};
use leasehold::{EndReason, Error, Key, LockManager};
use tokio::runtime::{Builder, Runtime};

use crate::rules::tools::{KEY, Scene, settle};

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_dropped_guard_is_released_in_the_background() {
    let scene = Scene::calm();
    drop(scene.locks.lock(KEY).acquire().await.unwrap());
    settle().await;
    assert!(scene.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_release_in_the_background_is_repeated_until_it_is_confirmed() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Release, 1) => Fault::Fail,
        (Command::Release, 2) => Fault::HangBefore,
        (Command::Release, 3) => Fault::Panic,
        _ => Fault::None,
    });
    drop(scene.locks.lock(KEY).acquire().await.unwrap());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(scene.log.count(Command::Release), 4);
    assert!(scene.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_guard_dropped_by_a_panic_is_released() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let task = tokio::spawn(async move {
        guard
            .run(async |_| -> Result<(), Error> { panic!("a bug in the body") })
            .await
    });
    assert!(task.await.unwrap_err().is_panic());
    settle().await;
    assert!(scene.is_free().await);
}

#[test]
fn a_guard_dropped_on_a_plain_thread_is_released_by_its_runtime() {
    let runtime = runtime();
    let scene = Scene::calm();
    let guard = runtime.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    std::thread::spawn(move || drop(guard)).join().unwrap();
    runtime.block_on(settle());
    assert!(runtime.block_on(scene.is_free()));
}

#[test]
fn a_guard_that_outlives_its_runtime_expires_with_its_lease() {
    let world = InProcess::new();
    let locks = LockManager::new(world.clone());
    let ttl = Duration::from_millis(100);
    let guard = {
        let runtime = runtime();
        let lock = locks.lock(KEY).ttl(ttl);
        runtime.block_on(lock.acquire()).unwrap()
    };
    // The watchdog has ended with its runtime. The guard must not panic, and must not report a validity that it cannot
    // know.
    std::thread::sleep(ttl);
    assert!(!guard.is_valid());
    drop(guard);
    let key = Key::new("lock:", KEY).unwrap();
    assert!(runtime().block_on(world.inspect(&key)).unwrap().is_free());
    // The manager continues in another runtime.
    let runtime = runtime();
    let next = runtime.block_on(locks.lock(KEY).acquire()).unwrap();
    runtime.block_on(async {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert!(next.is_valid());
    });
}

#[test]
fn a_loss_is_noticed_without_a_watchdog() {
    let locks = LockManager::in_process();
    let guard = {
        let runtime = runtime();
        runtime
            .block_on(locks.lock(KEY).ttl(Duration::from_millis(100)).acquire())
            .unwrap()
    };
    let lost = runtime().block_on(async { guard.ended().await });
    assert_eq!(lost.reason, EndReason::Expired);
}

/// Polls once, outside of a runtime.
fn polled<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn no_operation_panics_outside_a_runtime() {
    let runtime = runtime();
    let scene = Scene::calm();
    let guard = runtime.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    assert!(polled(guard.ended()).is_none());
    assert!(
        polled(guard.run(async |_| std::future::pending::<Result<(), Error>>().await)).is_none()
    );
    assert!(polled(guard.renew()).is_none());
    assert!(polled(scene.locks.inspect(KEY)).unwrap().is_err());
    assert!(polled(scene.locks.force_release(KEY)).unwrap().is_err());
    // The release continues in the background of the runtime that acquired.
    assert!(polled(guard.release()).unwrap().is_err());
    runtime.block_on(settle());
    assert!(runtime.block_on(scene.is_free()));
    assert!(polled(scene.locks.shutdown()).unwrap().is_ok());
}

#[test]
fn no_operation_panics_after_its_runtime_has_ended() {
    let scene = Scene::calm();
    let guard = runtime().block_on(scene.locks.lock(KEY).acquire()).unwrap();
    assert!(polled(guard.ended()).is_none());
    assert!(
        polled(guard.run(async |_| std::future::pending::<Result<(), Error>>().await)).is_none()
    );
    assert!(polled(guard.renew()).unwrap().is_err());
    assert!(polled(guard.release()).unwrap().is_err());
}

#[test]
fn a_guard_dropped_in_an_ending_runtime_is_released_by_its_own_runtime() {
    let (lives, ends) = (runtime(), runtime());
    let scene = Scene::calm();
    let guard = lives.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    ends.block_on(async { drop(guard) });
    drop(ends);
    lives.block_on(settle());
    assert!(lives.block_on(scene.is_free()));
}

#[test]
fn a_release_in_an_ended_runtime_continues_in_another() {
    let (lives, ends) = (runtime(), runtime());
    let scene = Scene::new(|command, nth| match (command, nth) {
        (Command::Release, 1) => Fault::HangBefore,
        _ => Fault::None,
    });
    let guard = lives.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    ends.block_on(async {
        drop(guard);
        settle().await;
    });
    assert_eq!(scene.log.count(Command::Release), 1);
    drop(ends);
    lives.block_on(settle());
    assert_eq!(scene.log.count(Command::Release), 2);
    assert!(lives.block_on(scene.is_free()));
}

#[test]
fn the_next_acquire_releases_guards_of_an_ended_runtime() {
    let scene = Scene::calm();
    let left = runtime();
    let guard = left.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    left.spawn(async move {
        std::future::pending::<()>().await;
        drop(guard);
    });
    left.block_on(settle());
    drop(left);
    let next = runtime();
    assert!(!next.block_on(scene.is_free()));
    let wait = Duration::from_secs(1);
    let acquire = scene.locks.lock(KEY).wait(wait).acquire();
    assert!(next.block_on(acquire).is_ok());
}

#[test]
fn a_waiter_of_an_ended_runtime_is_cleaned_up_by_the_next_waiter() {
    let (lives, ends) = (runtime(), runtime());
    let scene = Scene::calm();
    let guard = lives.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    ends.spawn(scene.locks.lock(KEY).acquire());
    ends.block_on(settle());
    let behind = lives.spawn(scene.locks.lock(KEY).acquire());
    lives.block_on(settle());
    drop(ends);
    lives.block_on(async {
        settle().await;
        assert_eq!(scene.log.count(Command::Cleanup), 1);
        guard.release().await.unwrap();
        settle().await;
        assert!(behind.is_finished());
    });
}

#[test]
fn a_shutdown_releases_guards_of_an_ended_runtime() {
    let scene = Scene::calm();
    let left = runtime();
    let guard = left.block_on(scene.locks.lock(KEY).acquire()).unwrap();
    left.spawn(async move {
        std::future::pending::<()>().await;
        drop(guard);
    });
    left.block_on(settle());
    drop(left);
    let last = runtime();
    last.block_on(scene.locks.shutdown()).unwrap();
    assert!(last.block_on(scene.is_free()));
}

#[test]
fn in_process_a_dropped_guard_or_waiter_is_removed_immediately() {
    let (lives, ends) = (runtime(), runtime());
    let world = InProcess::new();
    let locks = LockManager::new(world.clone());
    let guard = lives.block_on(locks.lock(KEY).acquire()).unwrap();
    ends.spawn(locks.lock(KEY).acquire());
    ends.block_on(settle());
    let key = Key::new("lock:", KEY).unwrap();
    let inspect = || runtime().block_on(world.inspect(&key)).unwrap();
    assert_eq!(inspect().waiting, 1);
    drop(ends);
    assert_eq!(inspect().waiting, 0);
    drop(guard);
    assert!(inspect().is_free());
}
