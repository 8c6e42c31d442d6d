//! WebSocket sessions: a layer locks the handshake, and a handler can hold a lock for the session.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::any;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper::ext::Protocol;
use hyper_util::rt::{TokioExecutor, TokioIo};
use leasehold::{EndReason, LockGuard, LockManager};
use leasehold_tower::{LockLayer, Locked, OnDisconnect, Problem, key};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::tools::{is_free, until_free};
use crate::wire::{Socket, serve};

const MOST: Duration = Duration::from_secs(60);

/// Requests a WebSocket over HTTP/1.1.
async fn ask(at: SocketAddr) -> Socket {
    let mut socket = Socket::connect(at).await;
    let head = "GET /docs/7 HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    socket.write(head).await;
    socket
}

/// Returns the status of the response to a WebSocket request over HTTP/1.1.
async fn status(at: SocketAddr) -> u16 {
    let head = ask(at).await.read_until("\r\n\r\n").await;
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Returns the status of the response to a WebSocket request over HTTP/2.
async fn http2_status(at: SocketAddr) -> u16 {
    let io = TokioIo::new(TcpStream::connect(at).await.unwrap());
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let plain = Request::get(format!("http://{at}/none"));
    let plain = client.send_request(plain.body(Empty::<Bytes>::new()).unwrap());
    // With the first response, the client has also received the server's settings, which allow extended CONNECT.
    assert_eq!(plain.await.unwrap().status(), 404);
    let request = Request::connect(format!("http://{at}/docs/7"));
    let request = request.header("sec-websocket-version", "13");
    let mut request = request.body(Empty::new()).unwrap();
    let websocket = Protocol::from_static("websocket");
    request.extensions_mut().insert(websocket);
    let response = client.send_request(request).await.unwrap();
    response.status().as_u16()
}

#[tokio::test]
async fn layer_releases_the_lock_with_the_handshake_and_the_session_sees_it() {
    for finish in [OnDisconnect::Cancel, OnDisconnect::Continue] {
        let locks = LockManager::in_process();
        let layer = LockLayer::new(locks.clone(), key::path("doc:{id}").raw("id"))
            .all_methods()
            .until_body_end(MOST)
            .on_disconnect(finish);
        let (told, mut hear) = mpsc::channel(8);
        let open = any(async move |Locked(lock): Locked, ws: WebSocketUpgrade| {
            ws.on_upgrade(async move |_socket| told.send(lock.ended().await.reason).await.unwrap())
        });
        let app = Router::new().route("/docs/{id}", open).route_layer(layer);
        let at = serve(app).await;
        let mut socket = ask(at).await;
        let head = socket.read_until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(is_free(&locks, "doc:7").await);
        assert_eq!(hear.recv().await, Some(EndReason::Released));
    }
}

#[tokio::test]
async fn handshake_is_locked_as_get_on_http1_and_as_connect_on_http2() {
    type Change = fn(LockLayer<key::PathKey>) -> LockLayer<key::PathKey>;
    let cases: [(Change, u16, u16); 3] = [
        (|layer| layer, 101, 409),
        (|layer| layer.methods([Method::GET]), 409, 200),
        (
            |layer| layer.methods([Method::GET, Method::CONNECT]),
            409,
            409,
        ),
    ];
    for (change, first, second) in cases {
        let locks = LockManager::in_process();
        let layer = change(LockLayer::new(
            locks.clone(),
            key::path("doc:{id}").raw("id"),
        ));
        let open = any(async |ws: WebSocketUpgrade| ws.on_upgrade(async |_| ()));
        let app = Router::new().route("/docs/{id}", open).route_layer(layer);
        let at = serve(app).await;
        let _held = locks.lock("doc:7").acquire().await.unwrap();
        assert_eq!((status(at).await, http2_status(at).await), (first, second));
    }
}

/// Like the handler in the crate's documentation.
async fn edit(
    ws: WebSocketUpgrade,
    State(locks): State<LockManager>,
    Path(id): Path<u64>,
) -> Result<Response, Problem> {
    let lock = locks.lock(format!("doc:{id}")).wait(Duration::ZERO);
    let guard = lock.acquire().await?;
    Ok(ws.on_upgrade(move |socket| session(socket, guard)))
}

async fn session(mut socket: WebSocket, guard: LockGuard) {
    let edits = async |_| {
        socket.send("yours".into()).await?;
        while let Some(message) = socket.recv().await {
            let _edit = message?;
        }
        Ok::<_, leasehold_tower::BoxError>(())
    };
    if guard.run(edits).await.is_err() {
        let _gone = socket.send(Message::from("lost")).await;
    }
}

#[tokio::test]
async fn session_with_the_guard_holds_the_lock_until_it_ends() {
    let locks = LockManager::in_process();
    let app = Router::new().route("/docs/{id}", any(edit));
    let at = serve(app.with_state(locks.clone())).await;

    let mut socket = ask(at).await;
    socket.read_until("yours").await;
    assert_eq!((status(at).await, http2_status(at).await), (409, 409));
    drop(socket);
    until_free(&locks, "doc:7").await;

    let mut socket = ask(at).await;
    socket.read_until("yours").await;
    assert!(locks.force_release("doc:7").await.unwrap());
    locks.shutdown().await.unwrap();
    socket.read_until("lost").await;
    assert!(socket.is_closed().await);
}

#[tokio::test]
async fn disconnect_during_the_handshake_leaves_no_lock() {
    let locks = LockManager::in_process();
    let app = Router::new().route("/docs/{id}", any(edit));
    let at = serve(app.with_state(locks.clone())).await;
    for _ in 0..50 {
        drop(ask(at).await);
        until_free(&locks, "doc:7").await;
    }
}
