//! The sum of the request bodies that a layer buffers.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use http::Request;
use leasehold::LockManager;
use leasehold_tower::{IdempotencyLayer, OnDisconnect, ProblemKind};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::site::{Answer, Layer, Site, key, pay};
use crate::tools::document;

const PART: usize = 1_000;

fn layer() -> Layer {
    IdempotencyLayer::new(LockManager::in_process(), key()).max_buffered_bytes(10 * PART)
}

fn send(site: &Site, request: Request<Body>) -> JoinHandle<Answer> {
    let site = site.clone();
    tokio::spawn(async move { site.send(request).await })
}

/// Sends a request whose body ends when the sender is dropped. Returns when the layer has taken one part of the body.
async fn send_slowly(site: &Site, key: &str) -> (JoinHandle<Answer>, mpsc::Sender<Vec<u8>>) {
    let (parts, body) = mpsc::channel(1);
    let body = futures_util::stream::unfold(body, async |mut body| {
        let part: Vec<u8> = body.recv().await?;
        Some((Ok::<_, io::Error>(part), body))
    });
    let answer = send(site, pay(key, Body::from_stream(body)));
    parts.send(vec![b'x'; PART]).await.unwrap();
    drop(parts.reserve().await.unwrap());
    (answer, parts)
}

async fn is_refused(site: &Site, bytes: usize) -> bool {
    let answer = site.send(pay("other", vec![b'x'; bytes])).await;
    answer.status == 503
}

#[tokio::test]
async fn slow_bodies_above_the_sum_are_refused_until_one_of_them_ends() {
    let site = Site::new(layer(), async |_, _| "done");
    let mut slow = Vec::new();
    for n in 0..10 {
        slow.push(send_slowly(&site, &format!("slow-{n}")).await);
    }
    for n in 0..100 {
        let refused = site.raw(pay(&format!("k-{n}"), "x")).await;
        assert_eq!(refused.headers()["retry-after"], "1");
        let (status, problem) = document(refused).await;
        assert_eq!(status, 503);
        assert_eq!(problem["type"], ProblemKind::Overloaded.uri());
    }
    assert_eq!(site.runs(), 0);

    // Its client disconnects.
    let (dropped, _parts) = slow.pop().unwrap();
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    assert!(is_refused(&site, PART + 1).await);
    assert!(!is_refused(&site, PART).await);

    // The part that exceeds the sum ends its request, and gives all its bytes back.
    let (refused, parts) = slow.pop().unwrap();
    parts.send(vec![b'x'; PART + 1]).await.unwrap();
    assert_eq!(refused.await.unwrap().status, 503);

    for (answer, parts) in slow {
        drop(parts);
        assert_eq!(answer.await.unwrap().status, 200);
    }
    assert!(!is_refused(&site, 10 * PART).await);
}

#[tokio::test]
async fn body_counts_until_its_handler_ends_or_is_dropped() {
    for on_disconnect in [OnDisconnect::Cancel, OnDisconnect::Continue] {
        let layer = layer().on_disconnect(on_disconnect);
        let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, finishes) = (Arc::clone(&begun), Arc::clone(&finish));
        let site = Site::new(layer.clone(), move |run, _| {
            let (begins, finishes) = (Arc::clone(&begins), Arc::clone(&finishes));
            async move {
                if run == 1 {
                    begins.notify_one();
                    finishes.notified().await;
                }
            }
        });
        let first = send(&site, pay("first", vec![b'x'; 10 * PART]));
        begun.notified().await;
        assert!(is_refused(&site, 1).await);
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let is_continued = matches!(on_disconnect, OnDisconnect::Continue);
        assert_eq!(is_refused(&site, 1).await, is_continued);
        finish.notify_one();
        layer.finished().await;
        assert!(!is_refused(&site, 1).await);
    }
}

#[tokio::test]
async fn body_that_is_longer_than_the_sum_is_refused_as_too_long() {
    let site = Site::new(layer(), async |_, _| "done");
    let refused = site.refused(pay("k", vec![b'x'; 10 * PART + 1])).await;
    assert_eq!(refused, (413, "unreadable-body".to_owned()));
}
