//! Many requests on one HTTP/2 connection. The client resets half of them.

use std::time::Duration;

use axum::Router;
use axum::routing::any;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use leasehold::LockManager;
use leasehold_tower::{LockLayer, key};
use tokio::net::TcpStream;

use crate::tools::until_free;
use crate::wire::serve;

const ROUNDS: usize = 60;
/// Half of these streams are reset, so 16. The server closes a connection that has more than 20 reset streams in its
/// accept queue.
const STREAMS: usize = 32;
const KEYS: usize = 10;

#[tokio::test]
async fn reset_streams_leave_no_lock_and_other_streams_get_responses() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), key::path("order:{id}").raw("id"))
        .wait(Duration::from_secs(20))
        .until_body_end(Duration::from_secs(20));
    let slow = any(async || {
        tokio::time::sleep(Duration::from_millis(1)).await;
        "done"
    });
    let app = Router::new().route("/orders/{id}", slow).route_layer(layer);
    let at = serve(app).await;
    let io = TokioIo::new(TcpStream::connect(at).await.unwrap());
    let (client, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for round in 0..ROUNDS {
        let streams = (0..STREAMS).map(|stream| {
            let mut client = client.clone();
            let path = format!("http://{at}/orders/{}", stream % KEYS);
            let request = Request::post(path).body(Empty::<Bytes>::new()).unwrap();
            let patience = Duration::from_millis((round % 5) as u64);
            tokio::spawn(async move {
                client.ready().await.unwrap();
                let answer = client.send_request(request);
                if stream % 2 == 0 {
                    // Dropping the request resets its stream.
                    let _reset = tokio::time::timeout(patience, answer).await;
                    return;
                }
                let answer = answer.await.unwrap();
                assert_eq!(answer.status(), 200, "{stream} of {round}");
                let body = answer.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(body, "done");
            })
        });
        for stream in streams.collect::<Vec<_>>() {
            stream.await.unwrap();
        }
        for key in 0..KEYS {
            until_free(&locks, &format!("order:{key}")).await;
        }
    }
}
