//! The ways in which a request can end early: nothing is recorded, and a repeat runs again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use leasehold::LockManager;
use leasehold::backend::InProcess;
use leasehold_tower::{Locked, OnDisconnect};
use tokio::sync::Notify;

use super::site::{LOCK, Site, in_sqlite, pay};
use crate::tools::until_free;

/// Returns a site whose first run waits for `finish` after it has notified `begun`.
fn first_run_waits(layer: super::site::Layer) -> (Site, Arc<Notify>, Arc<Notify>) {
    let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, finishes) = (Arc::clone(&begun), Arc::clone(&finish));
    let site = Site::new(layer, move |run, _| {
        let (begins, finishes) = (Arc::clone(&begins), Arc::clone(&finishes));
        async move {
            if run == 1 {
                begins.notify_one();
                finishes.notified().await;
            }
            format!("run {run}")
        }
    });
    (site, begun, finish)
}

async fn disconnected(site: &Site, begun: &Notify) {
    let first = tokio::spawn({
        let site = site.clone();
        async move { site.send(pay("k", "10")).await }
    });
    begun.notified().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn disconnected_client_drops_the_handler_and_a_repeat_runs_again() {
    let locks = LockManager::in_process();
    let (layer, _pool) = in_sqlite(&locks).await;
    let (site, begun, _finish) = first_run_waits(layer);
    disconnected(&site, &begun).await;
    until_free(&locks, LOCK).await;
    assert_eq!(site.send(pay("k", "10")).await.body, "run 2");
}

#[tokio::test]
async fn disconnected_client_gets_the_response_on_repeat_if_the_handler_continues() {
    let locks = LockManager::in_process();
    let (layer, _pool) = in_sqlite(&locks).await;
    let layer = layer.on_disconnect(OnDisconnect::Continue);
    let (site, begun, finish) = first_run_waits(layer.clone());
    disconnected(&site, &begun).await;
    assert_eq!(site.refused(pay("k", "10")).await.0, 409);
    finish.notify_one();
    layer.finished().await;
    let repeat = site.send(pay("k", "10")).await;
    assert!(repeat.is_replay());
    assert_eq!(repeat.body, "run 1");
}

#[tokio::test]
async fn panic_is_not_recorded_and_a_repeat_runs_again() {
    for on_disconnect in [OnDisconnect::Cancel, OnDisconnect::Continue] {
        let locks = LockManager::in_process();
        let (layer, _pool) = in_sqlite(&locks).await;
        let site = Site::new(layer.on_disconnect(on_disconnect), async |run, _| {
            assert_ne!(run, 1, "a bug");
            format!("run {run}")
        });
        let first = site.clone();
        let first = tokio::spawn(async move { first.send(pay("k", "10")).await });
        assert!(first.await.unwrap_err().is_panic());
        until_free(&locks, LOCK).await;
        assert_eq!(site.send(pay("k", "10")).await.body, "run 2");
    }
}

#[tokio::test]
async fn lost_lock_drops_the_handler_and_a_repeat_runs_again() {
    let locks = LockManager::builder().ttl(Duration::from_secs(1));
    let locks = locks.without_renewal().build(InProcess::new()).unwrap();
    let (layer, _pool) = in_sqlite(&locks).await;
    let site = Site::new(layer, async |run, request: Request<Body>| {
        let Locked(lock) = request.extensions().get::<Locked>().unwrap();
        assert_eq!(lock.key(), LOCK);
        if run == 1 {
            std::future::pending::<()>().await;
        }
        format!("run {run}")
    });
    assert_eq!(site.refused(pay("k", "10")).await, (503, "lost".to_owned()));
    assert_eq!(site.send(pay("k", "10")).await.body, "run 2");
}
