//! Leases over hours, in virtual time.

use std::time::Duration;

use fastrand::Rng;
use futures_util::future::join_all;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, LockManager};
use tokio::time::{Instant, sleep};

const HOUR: Duration = Duration::from_secs(60 * 60);
const TTL: Duration = Duration::from_millis(300);

/// A timer may fire late by up to its resolution.
const TICK: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_short_lease_that_is_renewed_for_an_hour_is_never_lost() {
    let world = InProcess::new();
    let (locks, other) = (LockManager::new(world.clone()), LockManager::new(world));
    let guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    let started = Instant::now();
    let lost = tokio::spawn(guard.ended());
    while started.elapsed() < HOUR {
        sleep(TTL).await;
        assert!(
            guard.is_valid() && !lost.is_finished(),
            "lost after {:?}",
            started.elapsed()
        );
        assert!(other.lock("k").try_acquire().await.unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_lease_survives_an_hour_of_two_failures_per_renewal() {
    let mut calls = 0_u64;
    let backend = Faulty::new(InProcess::new(), move |call| {
        calls += u64::from(call.command == Command::Renew);
        match (call.command, calls % 3) {
            (Command::Renew, 0) => Fault::LoseAnswer,
            (Command::Renew, 1) => Fault::HangBefore,
            _ => Fault::None,
        }
    });
    let locks = LockManager::new(backend);
    let guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    sleep(HOUR).await;
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_lock_with_hanging_renewals_is_lost_exactly_at_its_deadline() {
    for ttl in [TTL, Duration::from_secs(30), Duration::from_secs(3600)] {
        let backend = Faulty::new(InProcess::new(), |call| match call.command {
            Command::Renew => Fault::HangBefore,
            _ => Fault::None,
        });
        let locks = LockManager::new(backend);
        let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
        let (started, valid_for) = (Instant::now(), guard.valid_for());
        assert!(valid_for < ttl && valid_for > ttl.mul_f64(0.98));
        let lost = guard.ended().await;
        assert_eq!(lost.reason, EndReason::Expired);
        let late = started.elapsed().checked_sub(valid_for);
        assert!(
            late.is_some_and(|late| late <= TICK),
            "{late:?} after the deadline"
        );
    }
}

/// Draws what happens to one request.
fn draw(random: &mut Rng) -> Fault {
    let late = Duration::from_millis(random.u64(0..2_500));
    match random.u8(0..8) {
        0 => Fault::SlowRequest(late),
        1 | 2 => Fault::SlowAnswer(late),
        3 => Fault::Fail,
        4 => Fault::LoseAnswer,
        5 => Fault::HangBefore,
        6 => Fault::HangAfter,
        _ => Fault::None,
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquire_exceeds_its_wait_by_at_most_one_command_whatever_the_backend_does() {
    const WAIT: Duration = Duration::from_secs(5);
    const COMMAND: Duration = Duration::from_secs(2);
    for seed in 0..200 {
        let mut random = Rng::with_seed(seed);
        let backend = Faulty::new(InProcess::new(), move |_call| draw(&mut random));
        let locks = LockManager::builder().command_timeout(COMMAND);
        let locks = locks.build(backend).unwrap();
        let ttl = [TTL, Duration::from_secs(30)][usize::from(seed % 2 == 0)];
        let acquires = (0..8).map(|task| {
            let lock = locks.lock(format!("{}", task % 2)).ttl(ttl).wait(WAIT);
            async move {
                let started = Instant::now();
                let acquired = lock.report_holder().acquire().await;
                assert!(
                    started.elapsed() <= WAIT + COMMAND + TICK,
                    "seed {seed}: {:?} with a TTL of {ttl:?}",
                    started.elapsed()
                );
                if acquired.is_ok() {
                    sleep(TTL).await;
                }
            }
        });
        join_all(acquires).await;
    }
}

#[tokio::test(start_paused = true)]
async fn run_ends_at_max_hold_with_that_reason() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let guard = locks
        .lock("k")
        .ttl(TTL)
        .max_hold(HOUR)
        .acquire()
        .await
        .unwrap();
    let lost = guard
        .run(async |_| std::future::pending::<Result<(), Error>>().await)
        .await
        .unwrap_err();
    assert!(matches!(lost, Error::Lost(lost) if lost.reason == EndReason::MaxHold));
    let late = started.elapsed() - HOUR;
    assert!(late <= TICK, "{late:?} after max_hold");
}
