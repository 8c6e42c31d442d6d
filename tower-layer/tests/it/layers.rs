//! The layers together with other middleware, in the documented order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::error_handling::HandleErrorLayer;
use axum::routing::{get, post};
use axum::{BoxError, Router};
use http::{Method, Request, StatusCode};
use leasehold::{InProcessFenceStore, LockManager};
use leasehold_tower::{FenceLayer, LockLayer, key};
use tokio::sync::Notify;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{ServiceBuilder, ServiceExt};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::tools::{problem, until_free};
use crate::wire::{Browser, Socket, serve};

const ROOM: usize = 3;

struct Site {
    at: SocketAddr,
    locks: LockManager,
    begun: Arc<Notify>,
    dropped: Arc<AtomicUsize>,
    browser: Browser,
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Site {
    async fn new(limit: Duration, wait: Duration) -> Self {
        let locks = LockManager::in_process();
        let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (begin, count) = (Arc::clone(&begun), Arc::clone(&dropped));
        let hang = post(async move || {
            let _dropped = Dropped(count);
            begin.notify_one();
            std::future::pending::<&'static str>().await
        });
        let outer = ServiceBuilder::new()
            .layer(TraceLayer::new_for_http())
            .layer(CatchPanicLayer::new())
            .layer(CorsLayer::permissive())
            .layer(HandleErrorLayer::new(async |_: BoxError| {
                StatusCode::SERVICE_UNAVAILABLE
            }))
            .load_shed()
            .layer(GlobalConcurrencyLimitLayer::new(ROOM))
            .layer(TimeoutLayer::with_status_code(
                StatusCode::REQUEST_TIMEOUT,
                limit,
            ));
        let app = Router::new()
            .route("/orders/{id}/hang", hang)
            .route("/orders/{id}/done", post(async || "done"))
            .route("/orders/{id}/bug", post(async || -> () { panic!("a bug") }))
            .route_layer(
                LockLayer::new(locks.clone(), key::path("order:{id}").raw("id")).wait(wait),
            )
            .layer(outer);
        Self {
            at: serve(app).await,
            locks,
            begun,
            dropped,
            browser: Browser::new(),
        }
    }
}

#[tokio::test]
async fn timeout_layer_drops_the_handler_and_frees_the_lock() {
    let site = Site::new(Duration::from_secs(2), Duration::ZERO).await;
    assert_eq!(site.browser.post(site.at, "/orders/7/hang").await, 408);
    assert_eq!(site.dropped.load(Ordering::SeqCst), 1);
    until_free(&site.locks, "order:7").await;
    assert_eq!(site.browser.post(site.at, "/orders/7/done").await, 200);
}

#[tokio::test]
async fn timeout_layer_includes_the_wait_for_the_lock() {
    let site = Site::new(Duration::from_secs(2), Duration::MAX).await;
    let held = site.locks.lock("order:7").acquire().await.unwrap();
    assert_eq!(site.browser.post(site.at, "/orders/7/done").await, 408);
    held.release().await.unwrap();
    until_free(&site.locks, "order:7").await;
    assert_eq!(site.browser.post(site.at, "/orders/7/done").await, 200);
}

#[tokio::test]
async fn load_is_shed_while_requests_wait_for_their_locks() {
    let site = Site::new(Duration::from_secs(60), Duration::MAX).await;
    let held = site.locks.lock("order:7").acquire().await.unwrap();
    let mut sockets = Vec::new();
    for waiting in 1..=ROOM {
        sockets.push(Socket::asking(site.at, "POST", "/orders/7/done").await);
        while site.locks.inspect("order:7").await.unwrap().waiting < waiting {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!(site.browser.post(site.at, "/orders/8/done").await, 503);
    held.release().await.unwrap();
    for socket in &mut sockets {
        assert!(socket.read_until("done").await.contains(" 200 "));
    }
    assert_eq!(site.browser.post(site.at, "/orders/8/done").await, 200);
}

#[tokio::test]
async fn cors_preflight_takes_no_lock_and_refusals_have_cors_headers() {
    let site = Site::new(Duration::from_secs(60), Duration::ZERO).await;
    let hanging = Socket::asking(site.at, "POST", "/orders/7/hang").await;
    site.begun.notified().await;
    let preflight = site
        .browser
        .send(Method::OPTIONS, site.at, "/orders/7/done")
        .await;
    assert_eq!(preflight.status(), 200);
    let refused = site
        .browser
        .send(Method::POST, site.at, "/orders/7/done")
        .await;
    assert_eq!(refused.headers()["access-control-allow-origin"], "*");
    assert_eq!(problem(refused).await, (409, "contended".to_owned()));
    drop(hanging);
    until_free(&site.locks, "order:7").await;
}

#[tokio::test]
async fn head_requests_are_locked_and_fenced_like_get_requests() {
    let locks = LockManager::in_process();
    let route = || Router::new().route("/orders/{id}", get(async || "order"));
    let locked =
        LockLayer::new(locks.clone(), key::path("order:{id}").raw("id")).methods([Method::GET]);
    let fenced = FenceLayer::new(
        InProcessFenceStore::new(),
        key::path("order:{id}").raw("id"),
    );
    let fenced = fenced.methods([Method::GET]);
    let _held = locks.lock("order:7").acquire().await.unwrap();
    for (app, refused) in [
        (route().route_layer(locked), 409),
        (route().route_layer(fenced), 428),
    ] {
        for (method, expected) in [
            (Method::GET, refused),
            (Method::HEAD, refused),
            (Method::OPTIONS, 405),
        ] {
            let request = Request::builder().method(&method).uri("/orders/7");
            let request = request.body(Body::empty()).unwrap();
            let answer = app.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), expected, "{method}");
        }
    }
}

#[tokio::test]
async fn panic_caught_by_an_outer_layer_releases_the_lock() {
    let site = Site::new(Duration::from_secs(60), Duration::ZERO).await;
    assert_eq!(site.browser.post(site.at, "/orders/7/bug").await, 500);
    until_free(&site.locks, "order:7").await;
    assert_eq!(site.browser.post(site.at, "/orders/7/done").await, 200);
}
