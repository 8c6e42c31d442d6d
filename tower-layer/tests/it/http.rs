//! How real servers and clients end a response that holds a lock until its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use leasehold::LockManager;
use leasehold_tower::key::PathKey;
use leasehold_tower::{LockLayer, key};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tower::{Layer, service_fn};

use crate::tools::{behind, done, is_free, orders, until_free};
use crate::wire::{Browser, Socket, serve};

const MOST: Duration = Duration::from_secs(60);

struct Site {
    locks: LockManager,
    at: SocketAddr,
    browser: Browser,
}

impl Site {
    /// Serves `handler` at `/orders/{id}`. At `/other/{id}` a second handler responds immediately under the same lock.
    async fn new(
        handler: MethodRouter,
        change: impl Fn(LockLayer<PathKey>) -> LockLayer<PathKey>,
    ) -> Self {
        let locks = LockManager::in_process();
        let layer = change(LockLayer::new(
            locks.clone(),
            key::path("order:{id}").raw("id"),
        ));
        let app = Router::new()
            .route("/orders/{id}", handler)
            .route("/other/{id}", any(async || "done"))
            .route_layer(layer);
        let at = serve(app).await;
        let browser = Browser::new();
        Self { locks, at, browser }
    }

    async fn held_to_the_end(handler: MethodRouter) -> Self {
        Self::new(handler, |layer| layer.all_methods().until_body_end(MOST)).await
    }

    async fn other(&self) -> u16 {
        self.browser.post(self.at, "/other/7").await
    }

    async fn until_free(&self) {
        until_free(&self.locks, "order:7").await;
        assert_eq!(self.other().await, 200, "the next request gets it");
    }
}

/// Returns a body whose parts the test sends.
fn streamed(parts: mpsc::Receiver<&'static str>) -> Body {
    let stream = futures_util::stream::unfold(parts, async |mut parts| {
        let part = parts.recv().await?;
        Some((Ok::<_, Infallible>(part), parts))
    });
    Body::from_stream(stream)
}

/// Returns a handler that responds once, with a body whose parts the test sends.
fn streaming() -> (MethodRouter, mpsc::Sender<&'static str>) {
    let (sender, parts) = mpsc::channel(8);
    let parts = Arc::new(std::sync::Mutex::new(Some(parts)));
    let handler = any(async move || streamed(parts.lock().unwrap().take().unwrap()));
    (handler, sender)
}

#[tokio::test]
async fn slow_response_body_holds_the_lock_until_its_end() {
    let (handler, parts) = streaming();
    let site = Site::held_to_the_end(handler).await;
    let mut socket = Socket::asking(site.at, "POST", "/orders/7").await;
    for part in ["one", "two"] {
        parts.send(part).await.unwrap();
        socket.read_until(part).await;
        assert_eq!(site.other().await, 409);
    }
    drop(parts);
    socket.read_until("\r\n0\r\n\r\n").await;
    assert_eq!(site.other().await, 200, "at once");
}

#[tokio::test]
async fn lock_is_released_before_the_response_body_by_default() {
    let (handler, parts) = streaming();
    let site = Site::new(handler, |layer| layer).await;
    let mut socket = Socket::asking(site.at, "POST", "/orders/7").await;
    socket.read_until("\r\n\r\n").await;
    assert_eq!(site.other().await, 200);
    drop(parts);
    socket.read_until("0\r\n\r\n").await;
}

#[tokio::test]
async fn response_without_a_body_arrives_after_the_release() {
    for (method, status) in [
        (Method::HEAD, StatusCode::OK),
        (Method::POST, StatusCode::NO_CONTENT),
        (Method::POST, StatusCode::OK),
    ] {
        let answer = any(async move || {
            (
                status,
                if status == StatusCode::OK {
                    "some text"
                } else {
                    ""
                },
            )
        });
        let site = Site::held_to_the_end(answer).await;
        for _ in 0..50 {
            let response = site
                .browser
                .send(method.clone(), site.at, "/orders/7")
                .await;
            assert_eq!(response.status(), status, "{method}");
            drop(
                http_body_util::BodyExt::collect(response.into_body())
                    .await
                    .unwrap(),
            );
            assert_eq!(site.other().await, 200, "{method} {status}");
        }
    }
}

#[tokio::test]
async fn body_of_known_length_releases_the_lock_after_its_last_byte() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    // The server does not poll the body for its end, and the body never reports it.
    let answer = any(async move || {
        let endless = futures_util::stream::pending::<Result<Bytes, Infallible>>();
        let noted = Dropped(Arc::clone(&count));
        let stream = futures_util::StreamExt::chain(
            futures_util::stream::once(async move {
                let _noted = &noted;
                Ok(Bytes::from("12345"))
            }),
            endless,
        );
        ([("content-length", "5")], Body::from_stream(stream))
    });
    let site = Site::held_to_the_end(answer).await;
    for round in 1..=20 {
        assert_eq!(site.browser.post(site.at, "/orders/7").await, 200);
        site.until_free().await;
        assert_eq!(dropped.load(Ordering::SeqCst), round);
    }
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns a handler that never responds, a notification of its start, and the number of its drops.
fn hanging() -> (MethodRouter, Arc<Notify>, Arc<AtomicUsize>) {
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (begin, count) = (Arc::clone(&begun), Arc::clone(&dropped));
    let handler = any(async move || {
        let _dropped = Dropped(count);
        begin.notify_one();
        std::future::pending::<&'static str>().await
    });
    (handler, begun, dropped)
}

#[tokio::test]
async fn disconnect_during_the_handler_drops_it_and_releases_the_lock() {
    let (handler, begun, dropped) = hanging();
    let site = Site::new(handler, |layer| layer).await;
    let socket = Socket::asking(site.at, "POST", "/orders/7").await;
    begun.notified().await;
    assert_eq!(site.other().await, 409);
    drop(socket);
    site.until_free().await;
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn disconnect_during_the_request_body_releases_the_lock() {
    let begun = Arc::new(Notify::new());
    let begin = Arc::clone(&begun);
    let handler = any(async move |request: Request<Body>| {
        begin.notify_one();
        axum::body::to_bytes(request.into_body(), 1000)
            .await
            .map_err(|_| StatusCode::BAD_REQUEST)
    });
    let site = Site::new(handler, |layer| layer).await;
    let mut socket = Socket::connect(site.at).await;
    socket
        .write("POST /orders/7 HTTP/1.1\r\nhost: test\r\ncontent-length: 100\r\n\r\nhalf of")
        .await;
    begun.notified().await;
    assert_eq!(site.other().await, 409);
    drop(socket);
    site.until_free().await;
}

#[tokio::test]
async fn disconnect_during_the_response_body_releases_the_lock() {
    let (handler, parts) = streaming();
    let site = Site::held_to_the_end(handler).await;
    let mut socket = Socket::asking(site.at, "POST", "/orders/7").await;
    parts.send("one").await.unwrap();
    socket.read_until("one").await;
    assert!(!is_free(&site.locks, "order:7").await);
    drop(socket);
    // The server notices the disconnect at the latest when it sends data.
    let more = async {
        while parts.send("more").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), more)
        .await
        .unwrap();
    site.until_free().await;
}

#[tokio::test]
async fn client_that_does_not_read_loses_the_lock_after_the_time_limit() {
    let most = Duration::from_secs(2);
    let endless = any(async || {
        let chunk = Bytes::from(vec![b'x'; 64 * 1024]);
        let stream = futures_util::stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()));
        Body::from_stream(stream)
    });
    let site = Site::new(endless, |layer| layer.until_body_end(most)).await;
    let mut socket = Socket::asking(site.at, "POST", "/orders/7").await;
    socket.read_until("\r\n\r\n").await;
    assert_eq!(site.other().await, 409);
    site.until_free().await;
}

#[tokio::test]
async fn panicking_handler_closes_the_connection_and_releases_the_lock() {
    let site = Site::new(any(async || -> Response { panic!("a bug") }), |layer| layer).await;
    let mut socket = Socket::asking(site.at, "POST", "/orders/7").await;
    assert!(socket.is_closed().await);
    site.until_free().await;
}

#[tokio::test]
async fn upgrade_releases_the_lock_and_keeps_the_connection_open() {
    let upgrade = any(async |mut request: Request<Body>| {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut io = TokioIo::new(upgrade.await.unwrap());
            let (mut read, mut write) = tokio::io::split(&mut io);
            tokio::io::copy(&mut read, &mut write).await.unwrap();
        });
        let headers = [("connection", "upgrade"), ("upgrade", "echo")];
        (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
    });
    let site = Site::held_to_the_end(upgrade).await;
    let mut socket = Socket::connect(site.at).await;
    socket
        .write(
            "GET /orders/7 HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
        )
        .await;
    socket.read_until("\r\n\r\n").await;
    assert_eq!(site.other().await, 200, "released with the response");
    socket.write("still here").await;
    assert_eq!(socket.read_until("here").await, "still here");
}

#[tokio::test]
async fn hyper_server_refuses_a_concurrent_post_and_accepts_a_get() {
    let locks = LockManager::in_process();
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, wait) = (Arc::clone(&begun), Arc::clone(&go_on));
    let handler = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (begin, wait) = (Arc::clone(&begin), Arc::clone(&wait));
        async move {
            if request.method() == Method::POST {
                begin.notify_one();
                wait.notified().await;
            }
            Ok::<_, Infallible>(done())
        }
    });
    let service = LockLayer::new(locks, orders()).layer(handler);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                server.serve_connection(TokioIo::new(stream), service).await
            });
        }
    });
    let browser = Browser::new();
    let first = tokio::spawn({
        let browser = browser.clone();
        async move { browser.post(at, "/orders/%37").await }
    });
    begun.notified().await;
    assert_eq!(browser.post(at, "/orders/7").await, 409);
    assert_eq!(browser.get(at, "/orders/7").await, 200);
    go_on.notify_one();
    assert_eq!(first.await.unwrap(), 200);
    go_on.notify_one();
    assert_eq!(browser.post(at, "/orders/7").await, 200);
}

#[tokio::test]
async fn body_of_a_refusal_has_its_exact_length() {
    let locks = LockManager::in_process();
    let service = behind(LockLayer::new(locks.clone(), orders()), async |_| done());
    let _held = locks.lock("order:7").acquire().await.unwrap();
    let refused = crate::tools::send(&service, crate::tools::post("/orders/7")).await;
    let length = http_body::Body::size_hint(refused.body()).exact();
    let text = crate::tools::text(refused).await;
    assert_eq!(length, Some(text.len() as u64));
}
