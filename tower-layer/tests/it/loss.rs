//! Locks that are lost while the handler runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Response, StatusCode};
use http_body_util::Full;
use leasehold::LockManager;
use leasehold::backend::InProcess;
use leasehold_tower::{LockLayer, OnLoss};

use crate::events::{Log, Names};
use crate::tools::{behind, document, done, orders, post, problem, send, status, text, until_free};

const TTL: Duration = Duration::from_secs(1);

/// Returns a manager whose locks are not renewed, and are lost after a second.
fn short_lived() -> LockManager {
    let builder = LockManager::builder().ttl(TTL);
    builder.without_renewal().build(InProcess::new()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn lost_lock_drops_the_handler_and_returns_a_problem() {
    let names = Names::default();
    let _listening = names.listen();
    let finished = Arc::new(AtomicBool::new(false));
    let finish = Arc::clone(&finished);
    let service = behind(LockLayer::new(short_lived(), orders()), move |_| {
        let finish = Arc::clone(&finish);
        async move {
            tokio::time::sleep(TTL * 2).await;
            finish.store(true, Ordering::SeqCst);
            done()
        }
    });
    let begun = tokio::time::Instant::now();
    let answer = send(&service, post("/orders/7")).await;
    assert!(begun.elapsed() <= TTL, "{:?}", begun.elapsed());
    assert!(answer.headers().get("retry-after").is_none());
    let (status, told) = document(answer).await;
    assert_eq!(
        (status, told["type"].as_str().unwrap()),
        (503, "https://docs.rs/leasehold-tower#lost")
    );
    assert!(
        told["detail"].as_str().unwrap().contains("partly done"),
        "{told}"
    );
    assert!(!told.to_string().contains("order:7"), "{told}");
    tokio::time::sleep(TTL * 3).await;
    assert!(!finished.load(Ordering::SeqCst));
    assert_eq!(names.all(), ["WARN leasehold_tower.refused"]);
}

#[tokio::test(start_paused = true)]
async fn the_lock_has_the_name_of_the_layer() {
    let log = Log::default();
    let _listening = log.listen();
    let layer = LockLayer::new(short_lived(), orders()).name("orders");
    let service = behind(layer, async |_| {
        tokio::time::sleep(TTL * 2).await;
        done()
    });
    assert_eq!(status(&service, post("/orders/7")).await, 503);
    let text = log.text();
    assert!(text.contains(r#"lock.name="orders""#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn request_longer_than_max_hold_loses_its_lock() {
    let most = TTL * 5;
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .ttl(TTL)
        .max_hold(most);
    let service = behind(layer, |_| std::future::pending());
    let begun = tokio::time::Instant::now();
    let answer = send(&service, post("/orders/7")).await;
    assert_eq!(problem(answer).await, (503, "lost".to_owned()));
    let took = begun.elapsed();
    assert!(most - TTL < took && took <= most, "{took:?}");
    until_free(&locks, "order:7").await;
}

#[tokio::test(start_paused = true)]
async fn on_loss_continue_returns_the_response_and_emits_a_warning() {
    let names = Names::default();
    let _listening = names.listen();
    let layer = LockLayer::new(short_lived(), orders()).on_loss(OnLoss::Continue);
    let service = behind(layer, async |_| {
        tokio::time::sleep(TTL * 2).await;
        done()
    });
    let answer = send(&service, post("/orders/7")).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(text(answer).await, "done");
    assert_eq!(names.all(), ["WARN leasehold_tower.went_on_without_lock"]);
}

#[tokio::test(start_paused = true)]
async fn on_loss_continue_frees_the_lock_immediately_after_the_loss() {
    let names = Names::default();
    let _listening = names.listen();
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .max_hold(TTL)
        .on_loss(OnLoss::Continue);
    let next = locks.clone();
    let service = behind(layer, move |_| {
        let locks = next.clone();
        async move {
            // Without the release after the loss, the lease would last for 30 s.
            tokio::time::sleep(TTL + TTL).await;
            until_free(&locks, "order:7").await;
            done()
        }
    });
    assert_eq!(status(&service, post("/orders/7")).await, 200);
    assert_eq!(names.all(), ["WARN leasehold_tower.went_on_without_lock"]);
}

/// Returns a handler whose lock is lost in its last poll.
fn lost_in_the_last_step(answer: StatusCode) -> crate::tools::Locked {
    let locks = LockManager::in_process();
    let manager = locks.clone();
    behind(LockLayer::new(locks, orders()), move |_| {
        let locks = manager.clone();
        async move {
            // The first poll of `shutdown` ends all guards.
            let _ended = locks.shutdown().now_or_never();
            let mut response = Response::new(Full::<Bytes>::default());
            *response.status_mut() = answer;
            response
        }
    })
}

#[tokio::test(start_paused = true)]
async fn loss_in_the_last_poll_replaces_only_successful_responses() {
    let completed = lost_in_the_last_step(StatusCode::CREATED);
    let (status_code, told) = document(send(&completed, post("/orders/7")).await).await;
    assert_eq!(status_code, 503);
    assert!(
        told["detail"].as_str().unwrap().contains("work is done"),
        "{told}"
    );
    for own in [StatusCode::NOT_FOUND, StatusCode::INTERNAL_SERVER_ERROR] {
        assert_eq!(
            status(&lost_in_the_last_step(own), post("/orders/7")).await,
            own
        );
    }
}

#[tokio::test(start_paused = true)]
async fn forced_release_is_reported_as_a_lost_lock() {
    let locks = LockManager::in_process();
    let operator = locks.clone();
    let service = behind(LockLayer::new(locks, orders()).ttl(TTL), move |_| {
        let operator = operator.clone();
        async move {
            operator.force_release("order:7").await.unwrap();
            std::future::pending().await
        }
    });
    let answer = problem(send(&service, post("/orders/7")).await).await;
    assert_eq!(answer, (503, "lost".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn contended_lock_is_logged_at_debug_level() {
    let names = Names::default();
    let _listening = names.listen();
    let locks = LockManager::in_process();
    let service = behind(LockLayer::new(locks.clone(), orders()), async |_| done());
    let _held = locks.lock("order:7").acquire().await.unwrap();
    assert_eq!(status(&service, post("/orders/7")).await, 409);
    assert_eq!(names.all(), ["DEBUG leasehold_tower.refused"]);
}
