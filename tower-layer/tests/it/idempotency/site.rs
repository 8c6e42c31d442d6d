//! A service whose handler counts its runs, behind an `IdempotencyLayer`.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use leasehold::LockManager;
use leasehold_sqlx::{SqlIdempotencyStore, ddl};
use leasehold_tower::IdempotencyLayer;
use leasehold_tower::key::{IdempotencyKey, KeyExtractor, WithPrincipal, idempotency_key};
use sqlx::SqlitePool;
use sqlx::sqlite::{Sqlite, SqlitePoolOptions};
use tokio::time::timeout;
use tower::ServiceExt;

pub(super) type Key = WithPrincipal<IdempotencyKey, fn(&Parts) -> Option<String>>;
pub(super) type Layer = IdempotencyLayer<Key>;

/// The key of the backend for the idempotency key `k` of `alice`.
pub(super) const LOCK: &str = "idempotency-key:k:alice";

/// Returns the key of a request. Its principal is the header `user`, or `alice`.
pub(super) fn key() -> Key {
    let principal: fn(&Parts) -> Option<String> = |request| {
        let user = request.headers.get("user");
        Some(user.map_or("alice", |it| it.to_str().unwrap()).to_owned())
    };
    idempotency_key().with_principal(principal)
}

/// Returns a layer that records in an in-memory database, and the database.
pub(super) async fn in_sqlite(locks: &LockManager) -> (Layer, SqlitePool) {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    ddl::create_idempotency_records(&pool).await.unwrap();
    let store = SqlIdempotencyStore::<Sqlite>::new(pool.clone());
    (
        IdempotencyLayer::new(locks.clone(), key()).store(store),
        pool,
    )
}

#[derive(Clone)]
pub(super) struct Site {
    app: Router,
    runs: Arc<AtomicUsize>,
}

/// A complete response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Site {
    /// Serves `handler` at `/payments` and `/refunds`. The handler gets the number of its run, starting at 1.
    pub(super) fn new<F, T, R>(layer: Layer, handler: F) -> Self
    where
        F: Fn(usize, Request<Body>) -> T + Clone + Send + Sync + 'static,
        T: Future<Output = R> + Send,
        R: IntoResponse,
    {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let run = move |request: Request<Body>| {
            let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
            handler(run, request)
        };
        let methods = post(run.clone())
            .get(run.clone())
            .patch(run.clone())
            .put(run);
        let app = Router::new()
            .route("/payments", methods.clone())
            .route("/refunds", methods)
            .route_layer(layer);
        Self { app, runs }
    }

    pub(super) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    pub(super) async fn raw(&self, request: Request<Body>) -> Response {
        let answer = timeout(Duration::from_secs(60), self.app.clone().oneshot(request));
        answer.await.expect("it should answer").unwrap()
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Answer {
        let (head, body) = self.raw(request).await.into_parts();
        Answer {
            status: head.status,
            headers: head.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// Sends a request that the layer refuses. Returns the status, and the name of the problem's type.
    pub(super) async fn refused(&self, request: Request<Body>) -> (u16, String) {
        crate::tools::problem(self.raw(request).await).await
    }
}

impl Answer {
    pub(super) fn is_replay(&self) -> bool {
        self.headers
            .get("idempotency-replayed")
            .is_some_and(|it| it == "true")
    }

    /// Asserts that this is the recorded part of `first`.
    pub(super) fn assert_replays(&self, first: &Self) {
        assert!(self.is_replay(), "{self:?}");
        assert_eq!(self.status, first.status);
        assert_eq!(self.body, first.body);
        for name in ["content-type", "location", "etag", "link"] {
            let values = |it: &Self| it.headers.get_all(name).iter().cloned().collect::<Vec<_>>();
            assert_eq!(values(self), values(first), "{name}");
        }
        assert!(!self.headers.contains_key("set-cookie"));
    }
}

pub(super) fn pay(key: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post("/payments")
        .header("idempotency-key", key)
        .body(body.into())
        .unwrap()
}
