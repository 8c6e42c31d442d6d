//! A lock is released once, after the handler, in each way in which a request can end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, StatusCode};
use leasehold::backend::InProcess;
use leasehold::{LockHandle, LockManager};
use leasehold_tower::key::PathKey;
use leasehold_tower::{LockLayer, Locked, OnDisconnect};
use tokio::sync::Notify;
use tower::timeout::Timeout;
use tower::{Layer, ServiceExt, service_fn};

use crate::tools::{behind, done, is_free, orders, post, send, status, until_free};

/// Records whether the lock was still held when this value was dropped.
struct Witness {
    lock: LockHandle,
    dropped_under_lock: Arc<AtomicUsize>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        let held = usize::from(self.lock.is_valid());
        self.dropped_under_lock.fetch_add(held, Ordering::SeqCst);
    }
}

fn witness(request: &Request<()>, count: &Arc<AtomicUsize>) -> Witness {
    let Locked(lock): &Locked = request.extensions().get().unwrap();
    Witness {
        lock: lock.clone(),
        dropped_under_lock: Arc::clone(count),
    }
}

#[tokio::test(start_paused = true)]
async fn service_error_is_returned_unchanged_and_releases_the_lock() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders());
    let failing = service_fn(async |_: Request<()>| {
        Err::<http::Response<http_body_util::Full<bytes::Bytes>>, _>("out of stock")
    });
    let service = layer.layer(failing);
    for _ in 0..3 {
        let failed = service.clone().oneshot(post("/orders/7")).await;
        assert_eq!(failed.err(), Some("out of stock"));
        assert!(is_free(&locks, "order:7").await);
    }
}

#[tokio::test(start_paused = true)]
async fn panic_drops_the_handler_and_then_releases_the_lock() {
    for on_disconnect in [OnDisconnect::Cancel, OnDisconnect::Continue] {
        let locks = LockManager::in_process();
        let count = Arc::new(AtomicUsize::new(0));
        let noted = Arc::clone(&count);
        let layer = LockLayer::new(locks.clone(), orders()).on_disconnect(on_disconnect);
        let service = behind(layer, move |request| {
            let witness = witness(&request, &noted);
            async move {
                tokio::task::yield_now().await;
                let _witness = witness;
                panic!("a bug")
            }
        });
        let panicked = tokio::spawn(async move { send(&service, post("/orders/7")).await });
        assert!(panicked.await.unwrap_err().is_panic(), "{on_disconnect:?}");
        until_free(&locks, "order:7").await;
        assert_eq!(count.load(Ordering::SeqCst), 1, "{on_disconnect:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_request_drops_the_handler_and_then_releases_the_lock() {
    let locks = LockManager::in_process();
    let count = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&count);
    let service = behind(LockLayer::new(locks.clone(), orders()), move |request| {
        let witness = witness(&request, &noted);
        async move {
            let _witness = witness;
            std::future::pending().await
        }
    });
    let cut = tokio::time::timeout(Duration::from_secs(1), send(&service, post("/orders/7")));
    assert!(cut.await.is_err());
    assert_eq!(count.load(Ordering::SeqCst), 1);
    until_free(&locks, "order:7").await;
}

/// Returns how long a handler that never ends holds its lock.
async fn longest_hold(
    locks: LockManager,
    change: impl Fn(LockLayer<PathKey>) -> LockLayer<PathKey>,
) -> Option<Duration> {
    let layer = change(LockLayer::new(locks.clone(), orders()));
    // A handler also never ends if it reads a request body that never ends.
    let service = behind(layer, |_| std::future::pending());
    let begun = tokio::time::Instant::now();
    let endless = tokio::spawn(async move { send(&service, post("/orders/7")).await });
    tokio::task::yield_now().await;
    let next = locks.lock("order:7").wait(Duration::from_secs(3000));
    let taken = next.acquire().await.ok().map(|_| begun.elapsed());
    endless.abort();
    taken
}

#[tokio::test(start_paused = true)]
async fn handler_that_never_ends_holds_the_lock_for_one_minute_by_default() {
    let seconds = |n| Some(Duration::from_secs(n));
    let own = || LockManager::in_process();
    assert_eq!(longest_hold(own(), |layer| layer).await, seconds(60));
    let finish = |layer: LockLayer<PathKey>| layer.on_disconnect(OnDisconnect::Continue);
    assert_eq!(longest_hold(own(), finish).await, seconds(60));
    let body = |layer: LockLayer<PathKey>| layer.until_body_end(Duration::from_secs(90));
    assert_eq!(longest_hold(own(), body).await, seconds(150));
    let said = |layer: LockLayer<PathKey>| layer.max_hold(Duration::from_secs(7));
    assert_eq!(longest_hold(own(), said).await, seconds(7));
    let none = |layer: LockLayer<PathKey>| layer.no_max_hold();
    assert_eq!(longest_hold(own(), none).await, None);
    let managers = LockManager::builder().max_hold(Duration::from_secs(5));
    let managers = managers.build(InProcess::new()).unwrap();
    assert_eq!(longest_hold(managers, |layer| layer).await, seconds(5));
}

#[tokio::test(start_paused = true)]
async fn hold_at_least_keeps_the_lock_held_after_the_response() {
    let minute = Duration::from_secs(60);
    let layer = LockLayer::new(LockManager::in_process(), orders()).hold_at_least(minute);
    let service = behind(layer, async |_| done());
    for _ in 0..2 {
        assert_eq!(status(&service, post("/orders/7")).await, StatusCode::OK);
        assert_eq!(status(&service, post("/orders/8")).await, StatusCode::OK);
        tokio::time::sleep(minute - Duration::from_millis(1)).await;
        let repeated = status(&service, post("/orders/7")).await;
        assert_eq!(repeated, StatusCode::CONFLICT);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let too_long = Duration::from_secs(60 * 60 * 25);
    let layer = LockLayer::new(LockManager::in_process(), orders()).hold_at_least(too_long);
    let service = behind(layer, async |_| done());
    let refused = status(&service, post("/orders/7")).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test(start_paused = true)]
async fn on_disconnect_continue_completes_the_handler_under_the_lock() {
    let locks = LockManager::in_process();
    let (inside, finished) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let layer = LockLayer::new(locks.clone(), orders()).on_disconnect(OnDisconnect::Continue);
    let (enter, finish) = (Arc::clone(&inside), Arc::clone(&finished));
    let service = behind(layer, move |request| {
        let (inside, finished) = (Arc::clone(&enter), Arc::clone(&finish));
        let witness = witness(&request, &finished);
        async move {
            inside.notify_one();
            tokio::time::sleep(Duration::from_secs(5)).await;
            drop(witness);
            done()
        }
    });
    let request = tokio::spawn({
        let service = service.clone();
        async move { send(&service, post("/orders/7")).await }
    });
    inside.notified().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    assert_eq!(status(&service, post("/orders/7")).await, 409);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(finished.load(Ordering::SeqCst), 1);
    assert!(is_free(&locks, "order:7").await);
    assert_eq!(status(&service, post("/orders/7")).await, 200);
}

#[tokio::test(start_paused = true)]
async fn on_disconnect_continue_ignores_an_outer_timeout_until_max_hold() {
    const LIMIT: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(5);
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .on_disconnect(OnDisconnect::Continue)
        .max_hold(MOST);
    let count = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&count);
    let hanging = behind(layer.clone(), move |request| {
        let witness = witness(&request, &noted);
        async move {
            let _witness = witness;
            std::future::pending().await
        }
    });
    let limited = Timeout::new(hanging, LIMIT);
    let begun = tokio::time::Instant::now();
    let cut = limited.oneshot(post("/orders/7")).await.unwrap_err();
    assert!(cut.is::<tower::timeout::error::Elapsed>(), "{cut:?}");
    assert!(!is_free(&locks, "order:7").await);
    let finished = tokio::time::timeout(Duration::from_secs(3600), layer.finished());
    finished.await.expect("the handler should end");
    assert!(begun.elapsed() >= MOST, "{:?}", begun.elapsed());
    assert!(is_free(&locks, "order:7").await);
    assert_eq!(Arc::strong_count(&count), 1, "the handler was dropped");
    locks.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn on_disconnect_continue_obeys_an_inner_timeout() {
    const LIMIT: Duration = Duration::from_secs(1);
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders()).on_disconnect(OnDisconnect::Continue);
    let inside = Arc::new(Notify::new());
    let enter = Arc::clone(&inside);
    let hanging = service_fn(move |_: Request<()>| {
        enter.notify_one();
        std::future::pending::<Result<http::Response<http_body_util::Full<bytes::Bytes>>, Infallible>>(
        )
    });
    let service = layer.layer(Timeout::new(hanging, LIMIT));
    let request = tokio::spawn(service.oneshot(post("/orders/7")));
    inside.notified().await;
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    assert!(!is_free(&locks, "order:7").await);
    let finished = tokio::time::timeout(Duration::from_secs(3600), layer.finished());
    finished.await.expect("the handler should end");
    assert!(is_free(&locks, "order:7").await);
}

#[tokio::test(start_paused = true)]
async fn finished_waits_for_handlers_that_continue_after_a_disconnect() {
    const WORK: Duration = Duration::from_secs(5);
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders()).on_disconnect(OnDisconnect::Continue);
    // Twice, because the layer can still be used after `finished`.
    for _ in 0..2 {
        layer.finished().await;
        let (inside, finished) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (enter, finish) = (Arc::clone(&inside), Arc::clone(&finished));
        let service = behind(layer.clone(), move |_| {
            let (inside, finished) = (Arc::clone(&enter), Arc::clone(&finish));
            async move {
                inside.notify_one();
                tokio::time::sleep(WORK).await;
                finished.fetch_add(1, Ordering::SeqCst);
                done()
            }
        });
        let request = tokio::spawn(async move { send(&service, post("/orders/7")).await });
        inside.notified().await;
        request.abort();
        let begun = tokio::time::Instant::now();
        layer.finished().await;
        assert_eq!(finished.load(Ordering::SeqCst), 1);
        assert!(begun.elapsed() < 2 * WORK, "{:?}", begun.elapsed());
        assert!(is_free(&locks, "order:7").await);
    }
    locks.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn on_disconnect_continue_cancels_a_request_that_still_waits() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .on_disconnect(OnDisconnect::Continue)
        .wait(Duration::MAX);
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let service = behind(layer, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { done() }
    });
    let held = locks.lock("order:7").acquire().await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_secs(1), send(&service, post("/orders/7")));
    assert!(waiting.await.is_err());
    held.release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert!(is_free(&locks, "order:7").await);
}

#[tokio::test(start_paused = true)]
async fn request_without_a_key_is_not_boxed() {
    let layer = LockLayer::new(LockManager::in_process(), orders());
    let service = layer.layer(service_fn(|_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(done()))
    }));
    let ready = size_of::<
        std::future::Ready<Result<http::Response<http_body_util::Full<bytes::Bytes>>, Infallible>>,
    >();
    let future = tower::Service::call(&mut service.clone(), post("/elsewhere"));
    assert!(
        size_of_val(&future) >= ready,
        "the service's own future is in it"
    );
    future.await.unwrap();
}
