//! The cancellation matrix: each operation is dropped at each of its await points, with each fault. After the drop the
//! lock is free, the queue is empty, and the next acquire succeeds immediately.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use leasehold::backend::{Backend, InProcess};
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{Key, LockManager};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep};

const KEY: &str = "order:42";
const SLOW: Duration = Duration::from_millis(700);
const OTHER_HOLDS_FOR: Duration = Duration::from_millis(500);

/// The maximum time between a drop and a free lock. It covers scheduling, but not a lease or a timeout.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The maximum delay by a fault of a background command: one command timeout and one pause. It is much shorter than the
/// lease.
const ONE_FAULT: Duration = Duration::from_millis(2020);

const FAULTS: [Fault; 8] = [
    Fault::None,
    Fault::SlowRequest(SLOW),
    Fault::SlowAnswer(SLOW),
    Fault::LoseAnswer,
    Fault::Fail,
    Fault::HangBefore,
    Fault::HangAfter,
    Fault::Panic,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Acquire,
    TryAcquire,
    Wait,
    Renew,
    Downgrade,
    HandOver,
    Release,
}

impl Operation {
    const ALL: [Self; 7] = [
        Self::Acquire,
        Self::TryAcquire,
        Self::Wait,
        Self::Renew,
        Self::Downgrade,
        Self::HandOver,
        Self::Release,
    ];

    fn command(self) -> Command {
        match self {
            Self::Acquire | Self::TryAcquire => Command::Attempt,
            Self::Wait => Command::Wait,
            Self::Renew => Command::Renew,
            Self::HandOver => Command::HandOver,
            Self::Downgrade => Command::Downgrade,
            Self::Release => Command::Release,
        }
    }
}

/// Polls `operation` until it has returned `Pending` `points` times, then drops it. Returns `false` if it completed
/// before.
async fn dropped_after(points: usize, operation: impl Future<Output = ()>) -> bool {
    let mut operation = pin!(operation);
    let mut pending = 0;
    poll_fn(|cx| {
        if pending == points {
            return Poll::Ready(true);
        }
        pending += 1;
        operation.as_mut().poll(cx).map(|()| false)
    })
    .await
}

struct Scene {
    world: InProcess,
    locks: LockManager,
}

/// Creates a world in which the first call of `faulty` has `fault`, and all other calls succeed.
fn scene(faulty: Command, fault: Fault) -> Scene {
    let world = InProcess::new();
    let mut calls = 0;
    let backend = Faulty::new(world.clone(), move |call| {
        calls += u32::from(call.command == faulty);
        if call.command == faulty && calls == 1 {
            fault
        } else {
            Fault::None
        }
    });
    Scene {
        world,
        locks: LockManager::new(backend),
    }
}

async fn run(operation: Operation, scene: &Scene, points: usize) -> bool {
    let lock = scene.locks.lock(KEY);
    match operation {
        Operation::Acquire => {
            dropped_after(points, async {
                drop(lock.acquire().await);
            })
            .await
        }
        Operation::TryAcquire => {
            dropped_after(points, async {
                drop(lock.try_acquire().await);
            })
            .await
        }
        Operation::Wait => {
            let other = LockManager::new(scene.world.clone());
            let held = other.lock(KEY).acquire().await.unwrap();
            let releases = tokio::spawn(async move {
                sleep(OTHER_HOLDS_FOR).await;
                held.release().await.unwrap();
            });
            let dropped = dropped_after(points, async {
                drop(lock.acquire().await);
            })
            .await;
            releases.await.unwrap();
            dropped
        }
        Operation::Renew => {
            let guard = lock.acquire().await.unwrap();
            let dropped = dropped_after(points, async {
                drop(guard.renew().await);
            })
            .await;
            assert!(
                guard.is_valid(),
                "a renewal that was dropped must not end the lease"
            );
            dropped
        }
        Operation::Downgrade => {
            let guard = lock.acquire().await.unwrap();
            dropped_after(points, async {
                drop(guard.downgrade().await);
            })
            .await
        }
        Operation::HandOver => {
            let guard = lock.acquire().await.unwrap();
            let mut ticket = None;
            let dropped = dropped_after(points, async {
                ticket = guard.hand_over().await.ok();
            })
            .await;
            if let Some(ticket) = ticket {
                let taken_up = scene.locks.accept(&ticket).await.unwrap();
                taken_up.release().await.unwrap();
            }
            dropped
        }
        Operation::Release => {
            let guard = lock.acquire().await.unwrap();
            dropped_after(points, async {
                drop(guard.release().await);
            })
            .await
        }
    }
}

async fn assert_free_at_once(scene: &Scene, what: &str) {
    sleep(AT_ONCE).await;
    let key = Key::new("lock:", KEY).unwrap();
    let seen = scene.world.inspect(&key).await.unwrap();
    assert!(seen.is_free(), "{what}: {seen:?}");
    let started = Instant::now();
    let other = LockManager::new(scene.world.clone());
    let next = other.lock(KEY).try_acquire().await.unwrap();
    assert!(
        next.is_some() && started.elapsed().is_zero(),
        "{what}: the next acquire"
    );
}

fn in_virtual_time<T>(scenario: impl Future<Output = T>) -> T {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(scenario)
}

/// Runs a scenario with a drop at the first, second, third … await point, until the operation completes before its
/// drop. Returns the number of await points.
fn at_each_point(what: &str, scenario: &impl AsyncFn(usize, &str) -> bool) -> usize {
    for points in 0..100 {
        let what = format!("{what}, dropped at point {points}");
        if !in_virtual_time(scenario(points, &what)) {
            return points;
        }
    }
    panic!("{what} never completes");
}

#[test]
fn an_operation_dropped_at_any_await_point_leaves_the_lock_free() {
    let mut drops = 0;
    for operation in Operation::ALL {
        for fault in FAULTS {
            let what = format!("{operation:?} with {fault:?}");
            drops += at_each_point(&what, &async |points, what| {
                let scene = scene(operation.command(), fault);
                let dropped = run(operation, &scene, points).await;
                if operation == Operation::Release && points == 0 {
                    // The operation was never polled, so the fault occurs in the release in the background.
                    sleep(ONE_FAULT).await;
                }
                assert_free_at_once(&scene, what).await;
                dropped
            });
        }
    }
    println!(
        "{} operations × {} faults, dropped at {drops} points",
        Operation::ALL.len(),
        FAULTS.len()
    );
    assert!(drops > Operation::ALL.len() * FAULTS.len());
}

#[test]
fn a_renewal_dropped_after_its_first_poll_still_extends_the_lease() {
    in_virtual_time(async {
        let scene = scene(Command::Renew, Fault::SlowRequest(SLOW));
        let lock = scene.locks.lock(KEY).ttl(SLOW * 3).without_renewal();
        let guard = lock.acquire().await.unwrap();
        sleep(SLOW).await;
        let mut renewal = Box::pin(guard.renew());
        assert!(poll!(&mut renewal).is_pending());
        drop(renewal);
        sleep(SLOW + AT_ONCE).await;
        let left = guard.valid_for();
        assert!(left > SLOW && left < SLOW * 2, "{left:?}");
    });
}

#[test]
fn a_dropped_acquire_whose_cleanup_fails_leaves_the_lock_free() {
    for fault in FAULTS {
        let what = format!("acquire with {fault:?} of its cleanup");
        at_each_point(&what, &async |points, what| {
            let world = InProcess::new();
            let (mut attempts, mut cleanups) = (0, 0);
            let backend = Faulty::new(world.clone(), move |call| match call.command {
                Command::Attempt => {
                    attempts += 1;
                    if attempts == 1 {
                        Fault::SlowAnswer(SLOW)
                    } else {
                        Fault::None
                    }
                }
                Command::Cleanup => {
                    cleanups += 1;
                    if cleanups == 1 { fault } else { Fault::None }
                }
                _ => Fault::None,
            });
            let scene = Scene {
                world,
                locks: LockManager::new(backend),
            };
            let dropped = run(Operation::Acquire, &scene, points).await;
            sleep(ONE_FAULT).await;
            assert_free_at_once(&scene, what).await;
            dropped
        });
    }
}

#[test]
fn a_guard_dropped_during_a_watchdog_renewal_leaves_the_lock_free() {
    for fault in FAULTS {
        for after in [0, 1, 300, 699, 700, 701, 1999, 2000, 2001] {
            in_virtual_time(async {
                let scene = scene(Command::Renew, fault);
                let guard = scene.locks.lock(KEY).acquire().await.unwrap();
                // The first renewal is sent after 0.9 to 1.0 thirds of the lease.
                sleep(Duration::from_secs(9) + Duration::from_millis(after)).await;
                drop(guard);
                // The release waits for the running renewal, which ends after a timeout.
                sleep(Duration::from_secs(2)).await;
                let what = format!("watchdog's renewal with {fault:?}, dropped after {after} ms");
                assert_free_at_once(&scene, &what).await;
            });
        }
    }
}
