//! Tower services whose requests are not HTTP requests.

use std::error::Error as _;
use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::{Error, FencingToken, LockHandle, LockManager};
use leasehold_tower::service::{LockKey, LockServiceError, LockedService};
use tower::{ServiceExt, service_fn};

use crate::tools::{is_free, until_free};

#[derive(Debug, PartialEq)]
struct Ship {
    order: u64,
    token: Option<FencingToken>,
}

struct ByOrder;

impl LockKey<Ship> for ByOrder {
    fn key(&self, request: &Ship) -> Option<String> {
        (request.order > 0).then(|| format!("order:{}", request.order))
    }

    fn locked(&self, request: &mut Ship, lock: &LockHandle) {
        request.token = Some(lock.token());
    }
}

fn ship(order: u64) -> Ship {
    Ship { order, token: None }
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("out of stock")]
struct OutOfStock;

#[tokio::test(start_paused = true)]
async fn service_runs_under_its_lock_and_gets_the_token() {
    let locks = LockManager::in_process();
    let watcher = locks.clone();
    let echo = service_fn(move |request: Ship| {
        let locks = watcher.clone();
        async move {
            let seen = locks
                .inspect(format!("order:{}", request.order))
                .await
                .unwrap();
            assert_eq!(seen.token, request.token);
            Ok::<_, OutOfStock>(request)
        }
    });
    let service = LockedService::new(echo, locks.clone(), ByOrder);
    let mut last = None;
    for _ in 0..10 {
        let shipped = service.clone().oneshot(ship(7)).await.unwrap();
        assert!(shipped.token > last);
        last = shipped.token;
        assert!(is_free(&locks, "order:7").await);
    }
    assert_eq!(service.oneshot(ship(0)).await.unwrap(), ship(0));
}

#[tokio::test(start_paused = true)]
async fn each_cause_of_failure_has_its_own_error_variant() {
    let locks = LockManager::in_process();
    let failing = service_fn(async |_: Ship| Err::<(), _>(OutOfStock));
    let service = LockedService::new(failing, locks.clone(), ByOrder);
    let failed = service.clone().oneshot(ship(7)).await.unwrap_err();
    assert!(matches!(failed, LockServiceError::Service(OutOfStock)));
    assert_eq!(failed.source().unwrap().to_string(), OutOfStock.to_string());
    assert!(is_free(&locks, "order:7").await);

    let _held = locks.lock("order:7").acquire().await.unwrap();
    let busy = service.clone().oneshot(ship(7)).await.unwrap_err();
    let timed_out = |error: &_| matches!(error, LockServiceError::Lock(Error::TimedOut { .. }));
    assert!(timed_out(&busy), "{busy:?}");

    let patient = service.wait(Duration::from_secs(3)).max_waiters(1);
    let begun = tokio::time::Instant::now();
    let (first, second) = tokio::join!(patient.clone().oneshot(ship(7)), patient.oneshot(ship(7)));
    assert!(timed_out(&first.unwrap_err()));
    assert!(matches!(
        second.unwrap_err(),
        LockServiceError::TooManyWaiters
    ));
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_lost_lock_drops_the_call() {
    let second = Duration::from_secs(1);
    let not_renewed = LockManager::builder().without_renewal();
    let slow = || {
        service_fn(async |_: Ship| {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok::<_, OutOfStock>(())
        })
    };
    let services = [
        LockedService::new(
            slow(),
            not_renewed.build(InProcess::new()).unwrap(),
            ByOrder,
        )
        .ttl(second),
        LockedService::new(slow(), LockManager::in_process(), ByOrder).max_hold(second),
    ];
    for service in services {
        let begun = tokio::time::Instant::now();
        let lost = service.oneshot(ship(7)).await.unwrap_err();
        assert!(
            matches!(lost, LockServiceError::Lock(Error::Lost(_))),
            "{lost:?}"
        );
        assert!(begun.elapsed() <= second);
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_call_releases_the_lock() {
    let locks = LockManager::in_process();
    let hangs = service_fn(async |_: Ship| std::future::pending::<Result<(), OutOfStock>>().await);
    let service = LockedService::new(hangs, locks.clone(), ByOrder);
    let cut = tokio::time::timeout(Duration::from_secs(1), service.oneshot(ship(7)));
    assert!(cut.await.is_err());
    until_free(&locks, "order:7").await;
}

#[tokio::test(start_paused = true)]
async fn hold_at_least_keeps_the_lock_held_after_the_call() {
    let minute = Duration::from_secs(60);
    let fast = service_fn(async |_: Ship| Ok::<_, OutOfStock>(()));
    let service = LockedService::new(fast, LockManager::in_process(), ByOrder);
    let service = service.hold_at_least(minute);
    service.clone().oneshot(ship(7)).await.unwrap();
    tokio::time::sleep(minute - Duration::from_millis(1)).await;
    let refused = service.clone().oneshot(ship(7)).await.unwrap_err();
    assert!(matches!(
        refused,
        LockServiceError::Lock(Error::TimedOut { .. })
    ));
    tokio::time::sleep(Duration::from_millis(3)).await;
    service.oneshot(ship(7)).await.unwrap();
}
