//! Waiting for a busy lock, and the limit of waiters.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use http::Request;
use leasehold::LockManager;
use leasehold_tower::LockLayer;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::tools::{behind, done, is_free, orders, post, problem, send, status, until_free};

#[tokio::test(start_paused = true)]
async fn request_waits_for_the_lock_up_to_its_wait_limit() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders()).wait(Duration::from_secs(3));
    let service = behind(layer, async |_| done());
    let held = locks.lock("order:7").acquire().await.unwrap();
    let begun = Instant::now();
    assert_eq!(status(&service, post("/orders/7")).await, 409);
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    let give = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        held.release().await.unwrap();
    };
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(status(&service, post("/orders/7")), give);
    assert_eq!(answer, 200);
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn request_above_max_waiters_is_refused_immediately() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .wait(Duration::from_secs(60))
        .max_waiters(10);
    let service = behind(layer, async |_| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        done()
    });
    let held = locks.lock("order:7").acquire().await.unwrap();
    let ten: Vec<_> = (0..10)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { status(&service, post("/orders/7")).await })
        })
        .collect();
    while locks.inspect("order:7").await.unwrap().waiting < 10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begun = Instant::now();
    let eleventh = problem(send(&service, post("/orders/7")).await).await;
    assert_eq!(eleventh, (409, "too-many-waiters".to_owned()));
    assert_eq!(begun.elapsed(), Duration::ZERO);

    // A request whose lock is free does not count as a waiter.
    for order in 100..120 {
        let path = format!("/orders/{order}");
        assert_eq!(status(&service, post(&path)).await, 200);
    }
    held.release().await.unwrap();
    for answer in join_all(ten).await {
        assert_eq!(answer.unwrap(), 200);
    }
    // The permits of the former waiters are available again.
    let _held = locks.lock("order:7").acquire().await.unwrap();
    let waiter = tokio::spawn({
        let service = service.clone();
        async move { status(&service, post("/orders/7")).await }
    });
    while locks.inspect("order:7").await.unwrap().waiting < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    waiter.abort();
}

#[tokio::test(start_paused = true)]
async fn cancelled_request_leaves_no_waiter_and_no_lock() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .wait(Duration::MAX)
        .max_waiters(1);
    let service = behind(layer, async |_| done());
    let held = locks.lock("order:7").acquire().await.unwrap();
    for _ in 0..3 {
        let waiting =
            tokio::time::timeout(Duration::from_secs(1), send(&service, post("/orders/7")));
        assert!(waiting.await.is_err());
    }
    held.release().await.unwrap();
    until_free(&locks, "order:7").await;
    assert_eq!(status(&service, post("/orders/7")).await, 200);
}

#[tokio::test(start_paused = true)]
async fn dropped_wait_returns_the_reserved_capacity_of_its_service() {
    let locks = LockManager::in_process();
    let room = Arc::new(Semaphore::new(3));
    let handler = service_fn(|_: Request<()>| async { Ok::<_, Infallible>(done()) });
    let limited = GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&room)).layer(handler);
    let layer = LockLayer::new(locks.clone(), orders()).wait(Duration::from_secs(10));
    let service = layer.layer(limited);
    let held = locks.lock("order:7").acquire().await.unwrap();
    let mut waits = Vec::new();
    for _ in 0..3 {
        let mut service = service.clone();
        let ready = service.ready().await.unwrap();
        let mut wait = Box::pin(ready.call(post("/orders/7")));
        // Drop the service before its future.
        drop(service);
        assert!(futures_util::poll!(&mut wait).is_pending());
        waits.push(wait);
    }
    assert_eq!(room.available_permits(), 0);
    drop(waits.pop());
    assert_eq!(room.available_permits(), 1);
    held.release().await.unwrap();
    for wait in waits {
        assert_eq!(wait.await.unwrap().status(), 200);
    }
    assert_eq!(room.available_permits(), 3);
    assert!(is_free(&locks, "order:7").await);
}
