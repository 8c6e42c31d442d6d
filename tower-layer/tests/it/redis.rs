//! Several instances on one Redis server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use http::Method;
use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::RedisServer;
use leasehold_tower::{LockLayer, OnLoss, key};
use tokio::sync::Notify;

use crate::shop::Shop;
use crate::tools::{behind, done, orders, problem, status};
use crate::wire::{Browser, serve};

const WAIT: Duration = Duration::from_secs(100);

async fn instance(url: &str, shop: Shop) -> SocketAddr {
    let locks = LockManager::connect(url).await.unwrap();
    let ship = async move |Path(id): Path<u64>| shop.ship(id).await;
    let look = get(async || "here");
    let layer = LockLayer::new(locks, key::path("order:{id}").raw("id")).wait(WAIT);
    serve(
        Router::new()
            .route("/orders/{id}", post(ship).merge(look))
            .route_layer(layer),
    )
    .await
}

async fn two_axum_instances(orders: u64) {
    let server = RedisServer::start().await.unwrap();
    let shop = Shop::of(orders as usize);
    let one = instance(&server.url(), shop.clone()).await;
    let two = instance(&server.url(), shop.clone()).await;
    let browser = Browser::new();
    let send = async |order: u64, turn: usize| {
        let at = if turn.is_multiple_of(2) { one } else { two };
        browser.post(at, &format!("/orders/{order}")).await == 200
    };
    shop.is_orderly(orders, send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_axum_instances_handle_one_order_one_request_at_a_time() {
    two_axum_instances(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_axum_instances_handle_fifty_orders_in_parallel() {
    two_axum_instances(50).await;
}

async fn two_plain_services(many: u64) {
    let server = RedisServer::start().await.unwrap();
    let shop = Shop::of(many as usize);
    let mut services = Vec::new();
    for _ in 0..2 {
        let locks = LockManager::connect(&server.url()).await.unwrap();
        let shop = shop.clone();
        let layer = LockLayer::new(locks, orders()).wait(WAIT);
        services.push(behind(layer, move |request| {
            let (shop, path) = (shop.clone(), request.uri().path().to_owned());
            async move {
                let order = path.rsplit('/').next().unwrap();
                shop.ship(order.parse().unwrap()).await;
                done()
            }
        }));
    }
    let send = async |order: u64, turn: usize| {
        let request = crate::tools::post(&format!("/orders/{order}"));
        status(&services[turn % 2], request).await == 200
    };
    shop.is_orderly(many, send).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tower_services_handle_one_order_one_request_at_a_time() {
    two_plain_services(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tower_services_handle_fifty_orders_in_parallel() {
    two_plain_services(50).await;
}

/// A server behind a layer, whose only POST handler hangs.
struct Hanging {
    at: SocketAddr,
    begun: Arc<Notify>,
    runs: Arc<AtomicUsize>,
    browser: Browser,
}

impl Hanging {
    async fn new(
        locks: LockManager,
        change: impl Fn(LockLayer<key::PathKey>) -> LockLayer<key::PathKey>,
        hang: Duration,
    ) -> Self {
        let (begun, runs) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (begin, count) = (Arc::clone(&begun), Arc::clone(&runs));
        let handler = async move || {
            count.fetch_add(1, Ordering::SeqCst);
            begin.notify_one();
            tokio::time::sleep(hang).await;
            "done"
        };
        let layer = change(LockLayer::new(locks, key::path("order:{id}").raw("id")));
        let route = post(handler).get(async || "here");
        let app = Router::new()
            .route("/orders/{id}", route)
            .route_layer(layer);
        Self {
            at: serve(app).await,
            begun,
            runs,
            browser: Browser::new(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_do_not_wait_for_a_held_lock() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let other = LockManager::connect(&server.url()).await.unwrap();
    let site = Hanging::new(locks, |layer| layer, Duration::ZERO).await;
    let held = other.lock("order:7").acquire().await.unwrap();
    for _ in 0..20 {
        assert_eq!(site.browser.get(site.at, "/orders/7").await, 200);
        assert_eq!(site.browser.post(site.at, "/orders/7").await, 409);
    }
    held.release().await.unwrap();
    assert_eq!(site.browser.post(site.at, "/orders/7").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_backend_refuses_the_request_before_the_handler_runs() {
    let server = RedisServer::start().await.unwrap();
    let limit = Duration::from_millis(500);
    let redis = Redis::connect(&server.url()).await.unwrap();
    let locks = LockManager::builder()
        .command_timeout(limit)
        .build(redis)
        .unwrap();
    let site = Hanging::new(locks, |layer| layer, Duration::ZERO).await;
    assert_eq!(site.browser.post(site.at, "/orders/7").await, 200);
    for down in [
        (|server: &RedisServer| server.kill()) as fn(&RedisServer),
        |server| {
            server.pause().unwrap();
        },
    ] {
        down(&server);
        let begun = Instant::now();
        let answer = site.browser.send(Method::POST, site.at, "/orders/7").await;
        let took = begun.elapsed();
        assert_eq!(answer.headers()["retry-after"], "5");
        assert_eq!(problem(answer).await, (503, "unavailable".to_owned()));
        // Retries would take ten seconds.
        assert!(took < limit * 18, "{took:?}");
        assert_eq!(site.runs.load(Ordering::SeqCst), 1);
        assert_eq!(site.browser.get(site.at, "/orders/7").await, 200);
        site.runs.store(0, Ordering::SeqCst);
        server.restart().await.unwrap();
        let up = async {
            while site.browser.post(site.at, "/orders/7").await != 200 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), up)
            .await
            .unwrap();
        assert_eq!(site.runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_lost_during_a_request_cancels_or_continues_the_handler() {
    let server = RedisServer::start().await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let ttl = Duration::from_secs(1);
    // A lost lock stays held at the server for its TTL, so each case uses its own order.
    for (path, on_loss, hang, expected) in [
        ("/orders/7", OnLoss::Cancel, Duration::from_secs(600), 503),
        ("/orders/8", OnLoss::Continue, ttl * 2, 200),
    ] {
        let locks = LockManager::connect(&server.url_at(proxy.port()))
            .await
            .unwrap();
        let site = Hanging::new(locks, |layer| layer.ttl(ttl).on_loss(on_loss), hang).await;
        let sent = site.browser.send(Method::POST, site.at, path);
        let cut = async {
            let begun = tokio::time::timeout(Duration::from_secs(20), site.begun.notified());
            begun.await.expect("the handler should run");
            proxy.refuse().await.unwrap();
            proxy.cut();
        };
        let (answer, ()) = tokio::join!(sent, cut);
        assert_eq!(answer.status(), expected, "{on_loss:?}");
        if on_loss == OnLoss::Cancel {
            assert!(answer.headers().get("retry-after").is_none());
            assert_eq!(problem(answer).await, (503, "lost".to_owned()));
        }
        proxy.accept().await.unwrap();
    }
}
