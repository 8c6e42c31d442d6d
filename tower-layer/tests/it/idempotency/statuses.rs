//! The documented statuses.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::post;
use http::{Method, Request, StatusCode};
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{LockManager, LockOptions};
use leasehold_tower::key::{KeyExtractor, idempotency_key};
use leasehold_tower::{DEFAULT_MAX_HOLD, IdempotencyLayer, IdempotentRequest, ProblemKind};
use tokio::sync::mpsc;

use super::site::{LOCK, Site, in_sqlite, key, pay};
use crate::tools::{document, is_free, until_free};

async fn counting(change: impl FnOnce(super::site::Layer) -> super::site::Layer) -> Site {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    Site::new(change(layer), async |run, _| {
        (StatusCode::CREATED, format!("run {run}"))
    })
}

#[tokio::test]
async fn missing_key_is_refused_unless_it_is_optional() {
    let site = counting(|layer| layer).await;
    let none = || Request::post("/payments").body(Body::from("10")).unwrap();
    let (status, problem) = document(site.raw(none()).await).await;
    assert_eq!(status, 400);
    assert_eq!(problem["type"], ProblemKind::MissingKey.uri());
    assert_eq!(
        problem["detail"],
        "`idempotency-key` is missing; send this header"
    );
    assert_eq!(site.runs(), 0);

    let principal = |_: &http::request::Parts| Some("alice".to_owned());
    let optional = idempotency_key().optional().with_principal(principal);
    let layer = IdempotencyLayer::new(LockManager::in_process(), optional);
    let app = Router::new()
        .route("/payments", post(async || "ran"))
        .route_layer(layer);
    let answer = tower::ServiceExt::oneshot(app, none()).await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn invalid_key_and_oversize_key_are_refused() {
    let site = counting(|layer| layer).await;
    let longest = 256 - LOCK.len() + 1;
    for bad in [
        "\"open",
        "\"\"",
        "\"a\"b",
        "\u{e9}",
        &"k".repeat(longest + 1),
    ] {
        let refused = site.refused(pay(bad, "10")).await;
        assert_eq!(refused, (400, "invalid-key".to_owned()), "{bad:?}");
    }
    let twice = Request::post("/payments").header("idempotency-key", "a");
    let twice = twice
        .header("idempotency-key", "b")
        .body(Body::empty())
        .unwrap();
    assert_eq!(site.refused(twice).await, (400, "invalid-key".to_owned()));
    assert_eq!(site.runs(), 0);
    assert_eq!(site.send(pay(&"k".repeat(longest), "10")).await.status, 201);

    // The layer allows a longer key than the database.
    let site = counting(|layer| layer.max_key_bytes(1000)).await;
    let refused = site.refused(pay(&"k".repeat(600), "10")).await;
    assert_eq!(refused, (400, "invalid-key".to_owned()));
    assert_eq!(site.runs(), 0);
}

#[tokio::test]
async fn same_key_with_another_request_is_refused() {
    let site = counting(|layer| layer).await;
    let first = site.send(pay("k", "10")).await;
    let at = |method: Method, uri: &str, body: &'static str| {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("idempotency-key", "k");
        request.body(Body::from(body)).unwrap()
    };
    for other in [
        at(Method::POST, "/payments", "11"),
        at(Method::POST, "/payments", ""),
        at(Method::POST, "/payments?fast=1", "10"),
        at(Method::POST, "/refunds", "10"),
        at(Method::PATCH, "/payments", "10"),
    ] {
        assert_eq!(site.refused(other).await, (422, "key-reused".to_owned()));
    }
    assert_eq!(site.runs(), 1);
    site.send(pay("k", "10")).await.assert_replays(&first);
}

#[tokio::test]
async fn nested_routers_with_the_same_inner_path_are_different_requests() {
    let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
    let inner = || {
        Router::new()
            .route("/pay", post(async || "paid"))
            .route_layer(layer.clone())
    };
    let app = Router::new().nest("/a", inner()).nest("/b", inner());
    let mut statuses = Vec::new();
    for path in ["/a/pay", "/b/pay", "/a/pay"] {
        let request = Request::post(path)
            .header("idempotency-key", "k")
            .body(Body::empty());
        let answer = tower::ServiceExt::oneshot(app.clone(), request.unwrap()).await;
        statuses.push(answer.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [200, 422, 200]);
}

#[tokio::test]
async fn same_key_of_another_principal_is_another_key() {
    let site = counting(|layer| layer).await;
    let of = |user: &str| {
        let request = Request::post("/payments").header("idempotency-key", "k");
        request.header("user", user).body(Body::from("10")).unwrap()
    };
    assert_eq!(site.send(of("alice")).await.body, "run 1");
    assert_eq!(site.send(of("bob")).await.body, "run 2");
    assert_eq!(site.send(of("alice")).await.body, "run 1");
}

#[tokio::test]
async fn only_post_and_patch_need_a_key_by_default() {
    let site = counting(|layer| layer).await;
    let without = |method: Method| {
        let request = Request::builder().method(method).uri("/payments");
        request.body(Body::empty()).unwrap()
    };
    for (method, status) in [
        (Method::POST, 400),
        (Method::PATCH, 400),
        (Method::GET, 201),
        (Method::PUT, 201),
    ] {
        assert_eq!(
            site.send(without(method.clone())).await.status,
            status,
            "{method}"
        );
    }
    let site = counting(|layer| layer.methods([Method::PUT])).await;
    assert_eq!(site.send(without(Method::PUT)).await.status, 400);
    assert_eq!(site.send(without(Method::POST)).await.status, 201);
}

#[tokio::test]
async fn request_body_above_the_limit_is_refused_and_nothing_runs() {
    let locks = LockManager::in_process();
    let (layer, _pool) = in_sqlite(&locks).await;
    let site = Site::new(layer.max_request_bytes(10), async |_, _| "done");
    let refused = site.refused(pay("k", "x".repeat(11))).await;
    assert_eq!(refused, (413, "unreadable-body".to_owned()));
    assert!(is_free(&locks, LOCK).await);
    assert_eq!(site.runs(), 0);
    assert_eq!(site.send(pay("k", "x".repeat(10))).await.status, 200);
}

#[tokio::test]
async fn request_body_that_fails_is_refused_and_nothing_runs() {
    let site = counting(|layer| layer).await;
    let (parts, body) = mpsc::channel::<Result<&'static str, std::io::Error>>(2);
    parts.send(Ok("half")).await.unwrap();
    parts
        .send(Err(std::io::ErrorKind::ConnectionReset.into()))
        .await
        .unwrap();
    let body =
        futures_util::stream::unfold(body, async |mut body| Some((body.recv().await?, body)));
    let refused = site.refused(pay("k", Body::from_stream(body))).await;
    assert_eq!(refused, (400, "unreadable-body".to_owned()));
    assert_eq!(site.runs(), 0);
}

#[tokio::test]
async fn repeat_during_the_first_request_is_refused_or_waits() {
    for wait in [Duration::ZERO, Duration::from_secs(60)] {
        let (layer, _pool) = in_sqlite(&LockManager::in_process()).await;
        let (begun, mut begins) = mpsc::channel(1);
        let (finish, finishes) = mpsc::channel(1);
        let finishes = std::sync::Arc::new(tokio::sync::Mutex::new(finishes));
        let site = Site::new(layer.wait(wait), move |run, _| {
            let (begun, finishes) = (begun.clone(), finishes.clone());
            async move {
                begun.send(()).await.unwrap();
                finishes.lock().await.recv().await.unwrap();
                format!("run {run}")
            }
        });
        let first = async {
            let first = site.clone();
            tokio::spawn(async move { first.send(pay("k", "10")).await })
                .await
                .unwrap()
        };
        let repeat = async {
            begins.recv().await.unwrap();
            if wait.is_zero() {
                let (status, problem) = document(site.raw(pay("k", "10")).await).await;
                assert_eq!(status, 409);
                assert_eq!(problem["type"], ProblemKind::Contended.uri());
                assert_eq!(
                    problem["detail"],
                    "a request with the same key is outstanding"
                );
                let refused = site.raw(pay("k", "10")).await;
                assert_eq!(refused.headers()["retry-after"], "1");
                finish.send(()).await.unwrap();
                None
            } else {
                let repeat = site.clone();
                let repeat = tokio::spawn(async move { repeat.send(pay("k", "10")).await });
                tokio::time::sleep(Duration::from_millis(100)).await;
                assert!(!repeat.is_finished(), "it waits");
                finish.send(()).await.unwrap();
                Some(repeat.await.unwrap())
            }
        };
        let (first, repeat) = tokio::join!(first, repeat);
        assert_eq!(first.body, "run 1");
        if let Some(repeat) = repeat {
            repeat.assert_replays(&first);
        }
        assert_eq!(site.runs(), 1);
    }
}

#[tokio::test]
async fn recorded_response_is_returned_while_the_lock_is_held() {
    let locks = LockManager::in_process();
    let (layer, _pool) = in_sqlite(&locks).await;
    for layer in [layer, IdempotencyLayer::new(locks.clone(), key())] {
        let site = Site::new(layer, async |run, _| format!("run {run}"));
        let first = site.send(pay("k", "10")).await;
        let _held = locks.lock(LOCK).acquire().await.unwrap();
        site.send(pay("k", "10")).await.assert_replays(&first);
    }
}

#[tokio::test]
async fn more_waiters_than_allowed_are_refused() {
    let locks = LockManager::in_process();
    let (layer, _pool) = in_sqlite(&locks).await;
    let _held = locks.lock(LOCK).acquire().await.unwrap();
    for layer in [layer, IdempotencyLayer::new(locks, key())] {
        let layer = layer.wait(Duration::from_secs(60)).max_waiters(0);
        let site = Site::new(layer, async |_, _| "done");
        let refused = site.refused(pay("k", "10")).await;
        assert_eq!(refused, (409, "too-many-waiters".to_owned()));
    }
}

#[tokio::test]
async fn options_set_the_wait_of_a_repeat_and_later_ones_replace_it() {
    let locks = LockManager::in_process();
    let (layer, _pool) = in_sqlite(&locks).await;
    let _held = locks.lock(LOCK).acquire().await.unwrap();
    let options = LockOptions::new().wait(Duration::from_secs(60));
    for layer in [layer, IdempotencyLayer::new(locks, key())] {
        let waiting = layer.clone().options(&options).max_waiters(0);
        let site = Site::new(waiting, async |_, _| "done");
        // A request without a wait would not count as a waiter.
        let refused = site.refused(pay("k", "10")).await;
        assert_eq!(refused, (409, "too-many-waiters".to_owned()));

        let hasty = layer.options(&options).wait(Duration::ZERO).max_waiters(0);
        let site = Site::new(hasty, async |_, _| "done");
        let (status, problem) = site.refused(pay("k", "10")).await;
        assert_ne!((status, problem.as_str()), (409, "too-many-waiters"));
    }
}

#[tokio::test]
async fn store_that_is_down_refuses_the_request_and_nothing_runs() {
    let (layer, pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer, async |_, _| "done");
    pool.close().await;
    assert_eq!(
        site.refused(pay("k", "10")).await,
        (503, "unavailable".to_owned())
    );
    assert_eq!(site.runs(), 0);
}

#[tokio::test]
async fn store_that_fails_after_the_handler_is_reported_as_an_unknown_outcome() {
    let (layer, pool) = in_sqlite(&LockManager::in_process()).await;
    let site = Site::new(layer, move |_, _| {
        let pool = pool.clone();
        async move {
            pool.close().await;
            "done"
        }
    });
    let (status, problem) = document(site.raw(pay("k", "10")).await).await;
    assert_eq!(status, 500);
    assert_eq!(problem["type"], ProblemKind::OutcomeUnknown.uri());
    let detail = "the response was not recorded; the work may be done";
    assert_eq!(problem["detail"], detail);

    // `tracing` knows both events now. An event that is emitted for the first time while a subscriber is added in
    // another thread may be disabled.
    let names = crate::events::Names::default();
    let _listening = names.listen();
    assert_eq!(site.refused(pay("k", "10")).await.0, 503);
    let events = [
        "WARN leasehold_tower.store_failed",
        "WARN leasehold_tower.refused",
    ];
    assert_eq!(names.all(), events);
}

#[tokio::test]
async fn lock_backend_that_is_down_refuses_the_request_and_nothing_runs() {
    let locks = LockManager::new(Faulty::new(InProcess::new(), |_| Fault::Fail));
    let (layer, _pool) = in_sqlite(&locks).await;
    for layer in [layer, IdempotencyLayer::new(locks, key())] {
        let site = Site::new(layer, async |_, _| "done");
        let refused = site.refused(pay("k", "10")).await;
        assert_eq!(refused, (503, "unavailable".to_owned()));
        assert_eq!(site.runs(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn lock_backend_that_fails_after_the_handler_is_reported_as_an_unknown_outcome() {
    let backend = Faulty::new(InProcess::new(), |call| match call.command {
        Command::Record => Fault::Fail,
        _ => Fault::None,
    });
    let locks = LockManager::new(backend);
    let layer = IdempotencyLayer::new(locks.clone(), key());
    let site = Site::new(layer, async |_, _| "done");
    for runs in [1, 2] {
        let refused = site.refused(pay("k", "10")).await;
        assert_eq!(refused, (500, "outcome-unknown".to_owned()));
        assert_eq!(site.runs(), runs);
        until_free(&locks, LOCK).await;
    }
}

#[tokio::test(start_paused = true)]
async fn handler_that_hangs_is_dropped_after_the_longest_hold_time() {
    let locks = LockManager::in_process();
    let layer = IdempotencyLayer::new(locks, key());
    for (layer, most) in [
        (layer.clone(), DEFAULT_MAX_HOLD),
        (
            layer.max_hold(Duration::from_secs(5)),
            Duration::from_secs(5),
        ),
    ] {
        let site = Site::new(layer, async |_, _| std::future::pending::<()>().await);
        let begun = tokio::time::Instant::now();
        assert_eq!(site.refused(pay("k", "10")).await, (503, "lost".to_owned()));
        assert_eq!(begun.elapsed().as_secs(), most.as_secs());
    }
}

#[tokio::test]
async fn handler_that_records_in_a_transaction_needs_a_store_in_a_database() {
    let layer = IdempotencyLayer::new(LockManager::in_process(), key());
    let app = Router::new()
        .route("/payments", post(async |_: IdempotentRequest| "done"))
        .route_layer(layer);
    let answer = tower::ServiceExt::oneshot(app, pay("k", "10"))
        .await
        .unwrap();
    let refused = crate::tools::problem(answer).await;
    assert_eq!(refused, (500, "misconfigured".to_owned()));
}
