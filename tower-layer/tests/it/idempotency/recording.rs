//! What is recorded, and what is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use leasehold::{LockManager, MAX_RETENTION};
use leasehold_tower::{
    DEFAULT_MAX_RESPONSE_BYTES, IdempotencyLayer, MAX_RESPONSE_BYTES, Problem, ProblemKind,
};
use tower::{Layer, ServiceExt, service_fn};

use super::site::{Site, in_sqlite, key, pay};
use crate::tools::document;

#[tokio::test]
async fn chosen_headers_are_recorded_and_others_reach_only_the_first_client() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let layer = layer.recorded_headers([HeaderName::from_static("x-chosen")]);
    let site = Site::new(layer, async |run: usize, _| {
        let mut headers = HeaderMap::new();
        let opaque = HeaderValue::from_bytes(b"caf\xe9").unwrap();
        headers.append("x-chosen", opaque);
        headers.append("x-chosen", HeaderValue::from(run));
        headers.append("x-other", HeaderValue::from_static("other"));
        (headers, "done")
    });
    let first = site.send(pay("k", "10")).await;
    assert_eq!(first.headers["x-other"], "other");
    assert!(!first.is_replay());
    let repeat = site.send(pay("k", "10")).await;
    assert!(repeat.is_replay());
    let values: Vec<_> = repeat.headers.get_all("x-chosen").iter().collect();
    assert_eq!(values, [&b"caf\xe9"[..], b"1"]);
    for absent in ["x-other", "content-type"] {
        assert!(!repeat.headers.contains_key(absent), "{absent}");
    }
}

#[tokio::test]
async fn response_above_the_limit_is_not_recorded() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer, async |_, request: Request<Body>| {
        let size = request.headers()["size"].to_str().unwrap().parse().unwrap();
        "x".repeat(size)
    });
    let sized = |key: &str, size: usize| {
        let request = Request::post("/payments").header("idempotency-key", key);
        request.header("size", size).body(Body::empty()).unwrap()
    };
    let most = DEFAULT_MAX_RESPONSE_BYTES;
    let first = site.send(sized("fits", most)).await;
    site.send(sized("fits", most)).await.assert_replays(&first);
    assert_eq!(site.runs(), 1);
    for runs in [2, 3] {
        let (status, problem) = document(site.raw(sized("k", most + 1)).await).await;
        assert_eq!(status, 500);
        assert_eq!(problem["type"], ProblemKind::NotRecorded.uri());
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("65536 bytes: raise `max_response_bytes`"),
            "{detail}"
        );
        assert_eq!(site.runs(), runs, "a repeat runs again");
    }
}

#[tokio::test]
async fn largest_response_is_recorded_and_the_limit_cannot_be_larger() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer.max_response_bytes(usize::MAX), async |run, _| {
        // Not UTF-8, and with all bytes.
        let body = (0..=255).cycle().take(MAX_RESPONSE_BYTES + run - 1);
        body.collect::<Vec<u8>>()
    });
    let first = site.send(pay("k", "10")).await;
    assert_eq!(first.body.len(), MAX_RESPONSE_BYTES);
    site.send(pay("k", "10")).await.assert_replays(&first);
    let refused = site.refused(pay("k2", "10")).await;
    assert_eq!(refused, (500, "not-recorded".to_owned()));
}

#[tokio::test]
async fn errors_are_recorded_unless_they_ask_the_client_to_retry() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer.clone(), async |run, _| match run {
        1 => Problem::new(ProblemKind::Contended).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    });
    assert_eq!(site.send(pay("k", "10")).await.status, 409);
    let second = site.send(pay("k", "10")).await;
    assert_eq!(second.status, 500);
    site.send(pay("k", "10")).await.assert_replays(&second);
    assert_eq!(site.runs(), 2);

    let layer = layer.record_if(|response| response.status.is_success());
    let site = Site::new(layer, async |run, _| match run {
        1 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        _ => "done".into_response(),
    });
    assert_eq!(site.send(pay("k2", "10")).await.status, 500);
    let second = site.send(pay("k2", "10")).await;
    assert_eq!((second.status, second.is_replay()), (StatusCode::OK, false));
    site.send(pay("k2", "10")).await.assert_replays(&second);
}

#[tokio::test]
async fn response_with_trailers_or_a_failed_body_is_not_recorded() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer, async |run, _| {
        let last = match run {
            1 => Ok(Frame::trailers(HeaderMap::new())),
            _ => Err(std::io::Error::other("a bug")),
        };
        let frames = [Ok(Frame::data(Bytes::from("data"))), last];
        Body::new(StreamBody::new(futures_util::stream::iter(frames)))
    });
    for _ in 0..2 {
        let refused = site.refused(pay("k", "10")).await;
        assert_eq!(refused, (500, "not-recorded".to_owned()));
    }
    assert_eq!(site.runs(), 2);
}

#[tokio::test]
async fn expired_response_is_not_returned() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer.keep(Duration::from_millis(1)), async |run, _| {
        format!("run {run}")
    });
    assert_eq!(site.send(pay("k", "10")).await.body, "run 1");
    // Until the record expires, its key is used for another request.
    let other = loop {
        let other = site.send(pay("k", "another request")).await;
        if other.status != StatusCode::UNPROCESSABLE_ENTITY {
            break other;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(other.body, "run 2");
}

#[tokio::test]
async fn invalid_time_to_keep_is_refused_in_the_same_way_by_each_store() {
    let locks = LockManager::in_process();
    let (in_sqlite, _pool) = in_sqlite(&locks).await;
    let layers = [in_sqlite, IdempotencyLayer::new(locks, key())];
    let nanosecond = Duration::from_nanos(1);
    let least = Duration::from_millis(1);
    for keep in [
        Duration::ZERO,
        least - nanosecond,
        MAX_RETENTION + nanosecond,
        Duration::MAX,
    ] {
        let mut problems = Vec::new();
        for layer in layers.clone() {
            let site = Site::new(layer.keep(keep), async |_, _| "done");
            problems.push(document(site.raw(pay("k", "10")).await).await);
            assert_eq!(site.runs(), 0, "{keep:?}");
        }
        assert_eq!(problems[0], problems[1]);
        let (status, problem) = &problems[0];
        assert_eq!(*status, 500);
        assert_eq!(problem["type"], ProblemKind::Misconfigured.uri());
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with(&format!("keep is {keep:?}")), "{detail}");
    }
    for keep in [least, MAX_RETENTION] {
        for layer in layers.clone() {
            let site = Site::new(layer.keep(keep), async |_, _| "done");
            assert_eq!(
                site.send(pay(&format!("{keep:?}"), "10")).await.body,
                "done"
            );
        }
    }
}

#[tokio::test]
async fn error_of_a_service_is_returned_and_not_recorded() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let failed = Arc::new(AtomicBool::new(false));
    let service = layer.layer(service_fn(move |_: Request<Full<Bytes>>| {
        let again = failed.swap(true, Ordering::SeqCst);
        std::future::ready(match again {
            false => Err("out of stock"),
            true => Ok(Response::new(Full::<Bytes>::from("done"))),
        })
    }));
    let request = || pay("k", "").map(|_| Full::<Bytes>::from("10"));
    let failed = service.clone().oneshot(request()).await.map(drop);
    assert_eq!(failed, Err("out of stock"));
    let done = service.oneshot(request()).await.unwrap();
    assert!(!done.headers().contains_key("idempotency-replayed"));
}
