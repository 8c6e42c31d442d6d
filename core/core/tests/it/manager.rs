//! The documented behaviour of managers, locks and guards, except the rules of the core.
#![allow(clippy::panic, reason = "helpers of tests")]

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures_util::poll;
use leasehold::backend::{Backend, InProcess};
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, InvalidOption, LockManager};
use tokio::time::{Instant, sleep, timeout};

#[test]
fn a_manager_returns_the_capabilities_of_its_backend() {
    let world = InProcess::new();
    let can = LockManager::new(world.clone()).capabilities();
    assert_eq!(can, world.capabilities());
    assert!(can.fifo && can.shared && can.permits && can.handover);
}

fn unconfirmed(error: &Error) -> usize {
    match error {
        Error::Shutdown(error) => error.unconfirmed,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_spawned_task_in_a_managers_scope_can_outlive_the_manager() {
    let locks = LockManager::in_process();
    let guard = locks.lock("k").acquire().await.unwrap();
    let is_ended = async {
        let current = LockManager::current().unwrap();
        let answer = current.lock("k").acquire().await;
        matches!(answer, Err(Error::Closed { .. }))
    };
    let task = tokio::spawn(locks.as_default(is_ended));
    locks.shutdown().await.unwrap();
    drop((locks, guard));
    assert!(task.await.unwrap(), "it is the manager that was shut down");
}

#[tokio::test]
async fn clones_of_a_manager_share_locks_and_new_managers_do_not() {
    let locks = LockManager::in_process();
    let _guard = locks.lock("k").acquire().await.unwrap();
    assert!(
        locks
            .clone()
            .lock("k")
            .try_acquire()
            .await
            .unwrap()
            .is_none()
    );
    let other = LockManager::in_process();
    assert!(other.lock("k").try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn prefixes_separate_keys_and_an_empty_prefix_uses_bare_names() {
    let world = InProcess::new();
    let with = |prefix: &str| {
        LockManager::builder()
            .prefix(prefix)
            .build(world.clone())
            .unwrap()
    };
    let guard = with("shop:").lock("k").acquire().await.unwrap();
    assert_eq!(guard.key(), "k");
    assert!(
        with("other:")
            .lock("k")
            .try_acquire()
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        with("")
            .lock("shop:k")
            .try_acquire()
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn the_locks_of_a_manager_use_its_default_options() {
    let builder = LockManager::builder();
    let (ttl, max_hold) = (Duration::from_secs(3), Duration::from_secs(60));
    let locks = builder
        .ttl(ttl)
        .max_hold(max_hold)
        .build(InProcess::new())
        .unwrap();
    let started = Instant::now();
    let guard = locks.lock("k").acquire().await.unwrap();
    assert!(guard.valid_for() <= ttl && guard.valid_for() > ttl / 2);
    assert_eq!(guard.ended().await.reason, EndReason::MaxHold);
    assert_eq!(started.elapsed(), max_hold);
}

#[test]
fn a_manager_with_invalid_options_is_not_built() {
    let builder = || LockManager::builder();
    let bad_prefix = builder().prefix("a}").build(InProcess::new());
    assert!(matches!(bad_prefix, Err(Error::Key(_))), "{bad_prefix:?}");
    let bad_options = [
        builder()
            .ttl(Duration::from_millis(9))
            .build(InProcess::new()),
        builder()
            .ttl(Duration::from_secs(60 * 60 * 24 + 1))
            .build(InProcess::new()),
        builder().max_hold(Duration::ZERO).build(InProcess::new()),
        builder()
            .command_timeout(Duration::ZERO)
            .build(InProcess::new()),
        builder()
            .command_timeout(Duration::MAX)
            .build(InProcess::new()),
    ];
    for refused in bad_options {
        assert!(matches!(refused, Err(Error::Option(_))), "{refused:?}");
    }
    let error = builder()
        .command_timeout(Duration::ZERO)
        .build(InProcess::new())
        .unwrap_err();
    let Error::Option(InvalidOption::TooShort { option, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(option, "command_timeout");
}

#[tokio::test(start_paused = true)]
async fn a_lock_without_renewal_is_kept_by_manual_renewals() {
    let locks = LockManager::in_process();
    let ttl = Duration::from_secs(10);
    let guard = locks
        .lock("k")
        .ttl(ttl)
        .without_renewal()
        .acquire()
        .await
        .unwrap();
    for _ in 0..5 {
        sleep(ttl / 2).await;
        guard.renew().await.unwrap();
        assert!(guard.valid_for() > ttl / 2);
    }
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_leaves_the_lock_held() {
    let locks = LockManager::in_process();
    let guard = locks.lock("k").acquire().await.unwrap();
    let second = Duration::from_secs(1);
    assert!(
        timeout(
            second,
            guard.run(async |_| pending::<Result<(), Error>>().await)
        )
        .await
        .is_err()
    );
    assert!(guard.is_valid());
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_simulated_loss_ends_the_guard_and_its_release_frees_the_lock() {
    let locks = LockManager::in_process();
    let guard = locks.lock("k").acquire().await.unwrap();
    let watcher = tokio::spawn(guard.ended());
    guard.simulate_loss();
    assert!(!guard.is_valid());
    assert_eq!(watcher.await.unwrap().reason, EndReason::Expired);
    assert!(guard.run(async |_| Ok::<_, Error>(())).await.is_err());
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Expired));
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_guard_lost_at_max_hold_frees_its_lock_when_dropped() {
    let locks = LockManager::in_process();
    let max_hold = Duration::from_secs(1);
    let guard = locks.lock("k").max_hold(max_hold).acquire().await.unwrap();
    guard.ended().await;
    drop(guard);
    sleep(Duration::from_millis(1)).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_without_notifications_polls() {
    let world = InProcess::new();
    let backend = Faulty::new(world.clone(), |call| match call.command {
        Command::Wait => Fault::Fail,
        _ => Fault::None,
    });
    let (locks, other) = (LockManager::new(backend), LockManager::new(world));
    let guard = other.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    sleep(Duration::from_millis(100)).await;
    guard.release().await.unwrap();
    let released = Instant::now();
    let _guard = waiting.await.unwrap().unwrap();
    assert!(
        released.elapsed() < Duration::from_millis(200),
        "{:?}",
        released.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn an_unlimited_wait_does_not_time_out() {
    let locks = LockManager::in_process();
    let _guard = locks.lock("k").acquire().await.unwrap();
    for lock in [locks.lock("k"), locks.lock("k").wait(Duration::MAX)] {
        let hours = Duration::from_secs(60 * 60 * 6);
        assert!(timeout(hours, lock.acquire()).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_shutdown_continues_and_a_second_one_waits_for_it() {
    let slow = Duration::from_millis(900);
    let world = InProcess::new();
    let backend = Faulty::new(world.clone(), move |call| match call.command {
        Command::Release => Fault::SlowRequest(slow),
        _ => Fault::None,
    });
    let (locks, other) = (LockManager::new(backend), LockManager::new(world));
    let guard = locks.lock("k").acquire().await.unwrap();
    assert!(
        timeout(Duration::from_millis(1), locks.shutdown())
            .await
            .is_err()
    );
    assert_eq!(guard.ended().await.reason, EndReason::Shutdown);
    locks.shutdown().await.unwrap();
    assert!(other.lock("k").try_acquire().await.unwrap().is_some());
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::Shutdown));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_counts_unconfirmed_releases_and_does_not_hang() {
    let backend = Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::HangBefore,
        _ => Fault::None,
    });
    let locks = LockManager::builder()
        .backend_retry_timeout(Duration::from_secs(5))
        .build(backend)
        .unwrap();
    let _one = locks.lock("one").acquire().await.unwrap();
    let _two = locks.lock("two").acquire().await.unwrap();
    let started = Instant::now();
    let error = locks.shutdown().await.unwrap_err();
    assert_eq!(unconfirmed(&error), 2);
    assert!(
        started.elapsed() <= Duration::from_secs(8),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_counts_releases_that_timed_out_while_it_waited() {
    let backend = Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::HangBefore,
        _ => Fault::None,
    });
    let locks = LockManager::builder()
        .backend_retry_timeout(Duration::from_secs(10))
        .build(backend)
        .unwrap();
    let lock = locks.lock("k").ttl(Duration::from_secs(1));
    drop(lock.acquire().await.unwrap());
    // The release is retried for 11 s, and the shutdown waits for its end.
    sleep(Duration::from_secs(5)).await;
    let error = locks.shutdown().await.unwrap_err();
    assert_eq!(unconfirmed(&error), 1);
    let again = locks.shutdown().await.unwrap_err();
    assert_eq!(unconfirmed(&again), 1, "whoever asks is told");
}

#[test]
fn a_shutdown_counts_releases_that_ended_with_their_runtime() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let (ends, lives) = (runtime(), runtime());
    let locks = LockManager::new(Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::HangBefore,
        _ => Fault::None,
    }));
    ends.block_on(async { drop(locks.lock("k").acquire().await.unwrap()) });
    let error = lives.block_on(async {
        let mut shutdown = pin!(locks.shutdown());
        assert!(poll!(&mut shutdown).is_pending());
        ends.shutdown_background();
        shutdown.await.unwrap_err()
    });
    assert_eq!(unconfirmed(&error), 1);
}

#[tokio::test(start_paused = true)]
async fn an_acquire_during_a_shutdown_does_not_keep_its_lock() {
    // The grant is still in flight when the manager is shut down.
    let world = InProcess::new();
    let backend = Faulty::new(world.clone(), |call| match call.command {
        Command::Attempt => Fault::SlowAnswer(Duration::from_millis(500)),
        _ => Fault::None,
    });
    let (locks, other) = (LockManager::new(backend), LockManager::new(world));
    let acquire = tokio::spawn(locks.lock("k").acquire());
    sleep(Duration::from_millis(100)).await;
    locks.shutdown().await.unwrap();
    let refused = acquire.await.unwrap();
    assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
    assert!(other.lock("k").try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn inspect_and_force_release_refuse_invalid_keys() {
    let locks = LockManager::in_process();
    assert!(matches!(locks.inspect("").await, Err(Error::Key(_))));
    assert!(matches!(
        locks.force_release("a}").await,
        Err(Error::Key(_))
    ));
    assert!(!locks.force_release("free").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_unlimited_retry_timeout_does_not_prevent_releases() {
    let backend = LockManager::builder();
    let locks = backend
        .backend_retry_timeout(Duration::MAX)
        .build(InProcess::new())
        .unwrap();
    drop(locks.lock("k").acquire().await.unwrap());
    sleep(Duration::from_millis(1)).await;
    assert!(locks.inspect("k").await.unwrap().is_free());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_a_release_in_progress() {
    let slow = Duration::from_millis(900);
    let world = InProcess::new();
    let backend = Faulty::new(world.clone(), move |call| match call.command {
        Command::Release => Fault::SlowRequest(slow),
        _ => Fault::None,
    });
    let (locks, other) = (LockManager::new(backend), LockManager::new(world));
    let guard = locks.lock("k").acquire().await.unwrap();
    let release = tokio::spawn(guard.release());
    sleep(slow / 2).await;
    locks.shutdown().await.unwrap();
    assert!(other.inspect("k").await.unwrap().is_free());
    release.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_zero_retry_timeout_fails_immediately_and_an_unlimited_one_retries() {
    const HOUR: Duration = Duration::from_secs(3_600);
    for (limit, gives_up) in [(Duration::ZERO, true), (Duration::MAX, false)] {
        let started = Instant::now();
        let backend = Faulty::new(InProcess::new(), move |_call| {
            if started.elapsed() < HOUR {
                Fault::Fail
            } else {
                Fault::None
            }
        });
        let locks = LockManager::builder().backend_retry_timeout(limit);
        let answer = locks.build(backend).unwrap().lock("k").acquire().await;
        let took = started.elapsed();
        if gives_up {
            let error = answer.unwrap_err();
            assert!(matches!(error, Error::Backend { .. }), "{error:?}");
            assert!(took.is_zero(), "{took:?}");
        } else {
            assert!(answer.unwrap().is_valid() && took >= HOUR, "{took:?}");
        }
    }
}

/// Retries become more frequent when little of the wait is left.
#[tokio::test(start_paused = true)]
async fn an_acquire_soon_notices_a_backend_that_works_again_during_its_wait() {
    let ms = Duration::from_millis;
    for works_after in [ms(300), ms(700), ms(1450), ms(1800)] {
        let started = Instant::now();
        let backend = Faulty::new(InProcess::new(), move |_call| {
            match started.elapsed() < works_after {
                true => Fault::Fail,
                false => Fault::None,
            }
        });
        let lock = LockManager::new(backend).lock("k").wait(ms(2000));
        let guard = lock.acquire().await.unwrap();
        let late = started.elapsed() - works_after;
        assert!(
            late <= (ms(2000) - works_after) / 2,
            "{works_after:?}: {late:?}"
        );
        drop(guard);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_one_request_even_with_a_zero_retry_timeout() {
    let backend = Faulty::new(InProcess::new(), |call| match call.command {
        Command::Release => Fault::SlowAnswer(Duration::from_millis(5)),
        _ => Fault::None,
    });
    let builder = LockManager::builder().backend_retry_timeout(Duration::ZERO);
    let locks = builder.build(backend).unwrap();
    let _guard = locks.lock("k").acquire().await.unwrap();
    locks.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_reports_a_pending_acquire_that_is_not_polled() {
    let locks = LockManager::in_process();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let mut kept = Box::pin(locks.lock("k").acquire());
    assert!(poll!(&mut kept).is_pending());
    let error = locks.shutdown().await.unwrap_err();
    assert_eq!(unconfirmed(&error), 1);
    drop(kept);
    locks.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_returns_within_the_command_timeout() {
    let backend = Faulty::new(InProcess::new(), |call| match call.command {
        Command::Renew | Command::Release => Fault::HangBefore,
        _ => Fault::None,
    });
    let locks = LockManager::new(backend);
    let guard = locks.lock("k").acquire().await.unwrap();
    // A renewal is running, and never gets an answer.
    sleep(Duration::from_millis(10_500)).await;
    let started = Instant::now();
    assert!(guard.release().await.is_err());
    assert!(
        started.elapsed() <= Duration::from_millis(2001),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_expired_before_max_hold_has_the_reason_expired() {
    let locks = LockManager::in_process();
    let ttl = Duration::from_secs(10);
    let lock = locks.lock("k").ttl(ttl).max_hold(ttl * 6).without_renewal();
    let guard = lock.acquire().await.unwrap();
    tokio::time::advance(ttl * 10).await;
    assert_eq!(guard.ended().await.reason, EndReason::Expired);
}
