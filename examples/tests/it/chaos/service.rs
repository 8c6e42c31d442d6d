//! An axum service under a `LockLayer` that does not pass its token to another service.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::{Router, routing::post};
use leasehold::chaos::Chaos;
use leasehold::{FencingToken, LockManager};
use leasehold_tower::{LockLayer, Locked, OnLoss, key};
use tokio::sync::Mutex;
use tokio::task::yield_now;
use tower::ServiceExt;

use crate::chaos::{found, passes};

/// Another service with one document. It refuses writes with an old token, and accepts writes without a token.
#[derive(Default)]
struct Storage(Mutex<(Option<FencingToken>, u32)>);

impl Storage {
    async fn read(&self) -> u32 {
        yield_now().await;
        self.0.lock().await.1
    }

    async fn write(&self, token: Option<FencingToken>, value: u32) -> bool {
        yield_now().await;
        let mut stored = self.0.lock().await;
        if token.is_some() && token < stored.0 {
            return false;
        }
        *stored = (token, value);
        true
    }
}

/// Adds a line to the document. `passes_token` is false in the service with the mistake.
async fn append(
    State((storage, passes_token)): State<(Arc<Storage>, bool)>,
    Locked(lock): Locked,
) -> &'static str {
    let lines = storage.read().await;
    let token = passes_token.then(|| lock.token());
    match storage.write(token, lines + 1).await {
        true => "appended",
        false => "refused",
    }
}

fn app(locks: LockManager, storage: &Arc<Storage>, passes_token: bool) -> Router {
    let layer = LockLayer::new(locks, key::path("document:{id}").typed::<u64>("id"));
    let layer = layer
        .wait(std::time::Duration::from_secs(5))
        .on_loss(OnLoss::Continue);
    Router::new()
        .route("/documents/{id}", post(append))
        .route_layer(layer)
        .with_state((Arc::clone(storage), passes_token))
}

async fn document_is_complete(chaos: Chaos, passes_token: bool) {
    let storage = Arc::new(Storage::default());
    let send = async |locks| {
        let request = Request::post("/documents/7").body(Body::empty()).unwrap();
        let response = app(locks, &storage, passes_token)
            .oneshot(request)
            .await
            .unwrap();
        let body = axum::body::to_bytes(response.into_body(), 9999)
            .await
            .unwrap();
        body == "appended"
    };
    let ends = chaos.clients(3, send).await;
    let appended = ends.iter().filter(|end| **end == Some(true)).count();
    let lines = storage.read().await as usize;
    assert!(
        lines >= appended,
        "{appended} appended, but there are {lines} lines"
    );
}

#[test]
fn write_without_the_token_is_found() {
    found(async |chaos| document_is_complete(chaos, false).await);
}

#[test]
fn write_with_the_token_passes() {
    passes(async |chaos| document_is_complete(chaos, true).await);
}
