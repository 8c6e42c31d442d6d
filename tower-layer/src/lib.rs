//! Tower middleware that acquires a distributed lock for each request of a route. Other middleware refuses requests
//! from clients that have lost their lock.
//!
//! ```
//! # #[cfg(feature = "axum")]
//! # fn main() {
//! use std::time::Duration;
//! use axum::{Router, extract::Path, routing::post};
//! use leasehold::LockManager;
//! use leasehold_tower::{LockLayer, Locked, key};
//!
//! async fn ship(Locked(lock): Locked, Path(id): Path<u64>) -> String {
//!     // Only one request per order runs at a time, over all processes.
//!     format!("order {id} shipped under token {}", lock.token())
//! }
//!
//! let locks = LockManager::in_process(); // or LockManager::connect("redis://127.0.0.1").await?
//! // Parsed as in the handler: `/orders/7` and `/orders/07` use the same lock.
//! let order = key::path("order:{id}").typed::<u64>("id");
//! let app: Router = Router::new()
//!     .route("/orders/{id}/ship", post(ship))
//!     .route_layer(LockLayer::new(locks, order).wait(Duration::from_secs(2)));
//! # }
//! # #[cfg(not(feature = "axum"))]
//! # fn main() {}
//! ```
//!
//! # Which type to use
//!
//! | type | use it for |
//! |---|---|
//! | [`LockLayer`] | HTTP and gRPC servers: axum 0.8, tonic 0.14, any Tower service of `http` requests |
//! | [`service::LockedService`] | Tower services of any other kind |
//! | `IdempotencyLayer` (feature `idempotency`) | requests with the header `Idempotency-Key`: repeats get the response of the first request |
//! | [`SendFencingTokenLayer`] | HTTP clients that hold a lock: sends its fencing token |
//! | [`FenceLayer`] | the server that these clients write to: refuses older tokens |
//! | [`Problem`] | handlers that acquire locks themselves, with a `State<LockManager>`: use `?` in them |
//!
//! # Guarantees and limits
//!
//! - The layer locks all requests except GET, HEAD, OPTIONS and TRACE. [`LockLayer::all_methods`] and
//!   [`LockLayer::methods`] change which requests are locked.
//! - The handler of a locked request runs only while its lock is held. If the lock is lost, the layer drops the handler
//!   at its current `.await`.
//! - The layer releases the lock once: when the handler completes, fails, panics or is dropped. With
//!   [`LockLayer::until_body_end`] it releases the lock when the response body ends or is dropped.
//! - If the backend is down, the layer refuses requests. No request runs without its lock.
//! - The guarantees and limits of `leasehold` locks apply.
//!
//! A lock does not make requests idempotent: a duplicate request runs again if it arrives after the first response. Use
//! `IdempotencyLayer` for such requests. A request that was cancelled may be partly done, and its last statement may still commit while the next holder runs:
//! see [`OnDisconnect`]. A lock alone does not protect data: pass the fencing token to the resource that you write to.
//!
//! # Order of layers
//!
//! Add the layers in this order, from the outside in: tracing, CORS, load shedding, timeout, authentication,
//! [`LockLayer`], handler. CORS preflights use the safe method `OPTIONS`, so the layer does not lock them. With axum,
//! add the layer with `Router::route_layer` or to a method router, because path parameters are known there.
//!
//! ```
//! # #[cfg(feature = "axum")]
//! # fn main() {
//! use std::time::Duration;
//! use axum::error_handling::HandleErrorLayer;
//! use axum::http::StatusCode;
//! use axum::{BoxError, Router, routing::post};
//! use leasehold::LockManager;
//! use leasehold_tower::{LockLayer, key};
//! use tower::ServiceBuilder;
//! use tower::limit::GlobalConcurrencyLimitLayer;
//! use tower_http::cors::CorsLayer;
//! use tower_http::timeout::TimeoutLayer;
//! use tower_http::trace::TraceLayer;
//!
//! let lock = LockLayer::new(LockManager::in_process(), key::path("order:{id}").typed::<u64>("id"));
//! let app: Router = Router::new()
//!     .route("/orders/{id}/ship", post(async || "shipped"))
//!     .route_layer(lock)
//!     .layer(
//!         ServiceBuilder::new()
//!             .layer(TraceLayer::new_for_http())
//!             .layer(CorsLayer::permissive())
//!             .layer(HandleErrorLayer::new(async |_: BoxError| StatusCode::SERVICE_UNAVAILABLE))
//!             .load_shed()
//!             .layer(GlobalConcurrencyLimitLayer::new(512))
//!             .layer(TimeoutLayer::with_status_code(
//!                 StatusCode::REQUEST_TIMEOUT,
//!                 Duration::from_secs(10),
//!             )),
//!     );
//! # }
//! # #[cfg(not(feature = "axum"))]
//! # fn main() {}
//! ```
//!
//! # Handlers that acquire locks themselves
//!
//! ```
//! # #[cfg(feature = "axum")]
//! # fn main() {
//! use axum::extract::{Path, State};
//! use axum::{Router, routing::post};
//! use leasehold::LockManager;
//! use leasehold_tower::Problem;
//!
//! async fn ship(State(locks): State<LockManager>, Path(id): Path<u64>) -> Result<String, Problem> {
//!     let lock = locks.lock(format!("order:{id}")).wait(std::time::Duration::ZERO);
//!     // `run` does not return an error for an unconfirmed release, which continues in the background.
//!     lock.run(async |_lock| Ok(format!("order {id} shipped"))).await
//! }
//!
//! let app: Router = Router::new()
//!     .route("/orders/{id}/ship", post(ship))
//!     .with_state(LockManager::in_process());
//! # }
//! # #[cfg(not(feature = "axum"))]
//! # fn main() {}
//! ```
//!
//! # WebSocket sessions
//!
//! A layer locks only the handshake. It releases the lock when the handler returns the response to the handshake, even
//! with [`until_body_end`](LockLayer::until_body_end) and [`OnDisconnect::Continue`]. A [`Locked`] that is moved into
//! the session is not valid there: its `ended()` returns [`Released`](leasehold_core::EndReason::Released). The layer treats
//! other upgrades and CONNECT in the same way.
//!
//! To hold a lock for a whole session, acquire it in the handler and move the guard into the session. While another
//! session holds the lock, the handler refuses the handshake with 409.
//!
//! ```
//! # #[cfg(feature = "axum")]
//! # fn main() {
//! use std::time::Duration;
//! use axum::extract::ws::{WebSocket, WebSocketUpgrade};
//! use axum::extract::{Path, State};
//! use axum::response::Response;
//! use axum::{Router, routing::any};
//! use leasehold::{LockGuard, LockManager};
//! use leasehold_tower::Problem;
//!
//! async fn edit(
//!     ws: WebSocketUpgrade,
//!     State(locks): State<LockManager>,
//!     Path(id): Path<u64>,
//! ) -> Result<Response, Problem> {
//!     let lock = locks.lock(format!("document:{id}")).wait(Duration::ZERO);
//!     let guard = lock.max_hold(Duration::from_secs(3600)).acquire().await?;
//!     // If the upgrade fails, the closure is dropped, and the guard in it releases the lock.
//!     Ok(ws.on_upgrade(move |socket| session(socket, guard)))
//! }
//!
//! async fn session(mut socket: WebSocket, guard: LockGuard) {
//!     let edits = async |_| {
//!         while let Some(message) = socket.recv().await {
//!             let _edit = message?; // Write the edit under `guard.token()`.
//!         }
//!         Ok::<_, leasehold_tower::BoxError>(())
//!     };
//!     // If the lock is lost, `run` drops `edits` at its current `.await`.
//!     if guard.run(edits).await.is_err() {
//!         let _gone = socket.send("the lock was lost".into()).await;
//!     }
//! }
//!
//! let app: Router = Router::new()
//!     .route("/documents/{id}", any(edit))
//!     .with_state(LockManager::in_process());
//! # }
//! # #[cfg(not(feature = "axum"))]
//! # fn main() {}
//! ```
//!
//! The server detects that a client has disconnected only when it sends to that client. Until then the watchdog renews
//! the lock. Send pings and end the session if the client does not reply, or set a `max_hold` as above. A graceful
//! shutdown of axum does not wait for sessions. [`LockManager::shutdown`](leasehold_core::LockManager::shutdown) releases
//! their locks.
//!
//! Do not lock the same key in a layer around a handler that acquires it. The handler's acquire is then refused as
//! misconfigured. To lock handshakes in a layer, name both methods: a WebSocket begins with GET over HTTP/1.1 and with
//! CONNECT over HTTP/2. By default the layer locks only CONNECT.
//!
//! # Problems
//!
//! A refused request gets a response of type `application/problem+json` (RFC 9457). Its `type` is the URL of this page
//! with one of the names below as the fragment. No response contains the key.
//!
//! | name | status | gRPC | cause |
//! |---|---|---|---|
//! | <span id="contended">`contended`</span> | 409, `Retry-After` | `ABORTED` | another request holds the lock; at a fence, another request uses the resource |
//! | <span id="too-many-waiters">`too-many-waiters`</span> | 409, `Retry-After` | `RESOURCE_EXHAUSTED` | another request holds the lock, and the maximum number of requests wait already; 503 at a fence |
//! | <span id="unavailable">`unavailable`</span> | 503, `Retry-After` | `UNAVAILABLE` | the backend failed, or the manager was shut down; the handler did not run |
//! | <span id="lost">`lost`</span> | 503 | `ABORTED` | the lock was lost while the handler ran; the work may be partly done |
//! | <span id="outcome-unknown">`outcome-unknown`</span> | 500 | `UNKNOWN` | a release, renewal or conversion of a held lock failed; the work may be done |
//! | <span id="missing-key">`missing-key`</span> | 400 | `INVALID_ARGUMENT` | the header with the key is missing |
//! | <span id="invalid-key">`invalid-key`</span> | 400 | `INVALID_ARGUMENT` | the key is too long or invalid, or the handover ticket is invalid or already used |
//! | <span id="not-found">`not-found`</span> | 404 | `NOT_FOUND` | the row that a statement reads or writes does not exist |
//! | <span id="misconfigured">`misconfigured`</span> | 500 | `INTERNAL` | a mistake in the server's code; `detail` describes it |
//! | <span id="stale">`stale`</span> | 412 | `FAILED_PRECONDITION` | a newer holder has used the resource |
//! | <span id="missing-token">`missing-token`</span> | 428 | `INVALID_ARGUMENT` | the resource requires a fencing token |
//! | <span id="invalid-token">`invalid-token`</span> | 400 | `INVALID_ARGUMENT` | the fencing token is invalid, or larger than any lock can have yet |
//! | <span id="key-reused">`key-reused`</span> | 422 | `INVALID_ARGUMENT` | the idempotency key was already used for a request with another method, path, query or body |
//! | <span id="unreadable-body">`unreadable-body`</span> | 413 | `INVALID_ARGUMENT` | the body of a request with an idempotency key is too long; 400 if it ended with an error or has trailers |
//! | <span id="overloaded">`overloaded`</span> | 503, `Retry-After` | `RESOURCE_EXHAUSTED` | the bodies of concurrent requests with an idempotency key take all bytes that the layer may buffer; the handler did not run |
//! | <span id="not-recorded">`not-recorded`</span> | 500 | `UNKNOWN` | the response to a request with an idempotency key is too long or has trailers, or its handler did not commit it; the handler ran |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `axum` (default) | path parameters and matched paths of axum 0.8, extractors and `Problem: IntoResponse` |
//! | `idempotency` | `IdempotencyLayer` and `key::idempotency_key` |
//! | `sqlx` | `Problem: From<leasehold_sqlx::Error>` and `From<sqlx::Error>`, and with `idempotency` a store in SQL; needs Rust 1.94 |
//! | `tonic` | a gRPC status for refused gRPC calls; `tonic::Status: From<Problem>` |
//!
//! # Traces
//!
//! Events: `leasehold_tower.refused` (`WARN` if the server caused the refusal, else `DEBUG`), and `.stale`,
//! `.went_on_without_lock`, `.body_outlived_lock` and `.store_failed` (`WARN`). The field `event` of each event contains its name.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod current_lock_extension;
mod events;
mod fence;
#[cfg(feature = "idempotency")]
mod idempotency;
pub mod key;
mod limited_acquire;
mod lock;
mod methods;
mod on_loss;
mod problem;
mod release_guard;
mod response_future;
pub mod service;

pub use self::body::{BodyCut, ResponseBody};
pub use self::current_lock_extension::Locked;
pub use self::fence::{
    DEFAULT_QUEUE_TIMEOUT, DEFAULT_TOKEN_LEAD, FENCING_TOKEN, FenceLayer, FenceService,
    FencedToken, SendFencingTokenLayer, SendFencingTokenService,
};
#[cfg(all(feature = "idempotency", feature = "sqlx"))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "idempotency", feature = "sqlx"))))]
pub use self::idempotency::IdempotentRequest;
#[cfg(feature = "idempotency")]
#[cfg_attr(docsrs, doc(cfg(feature = "idempotency")))]
pub use self::idempotency::{
    DEFAULT_KEEP, DEFAULT_MAX_BUFFERED_BYTES, DEFAULT_MAX_REQUEST_BYTES,
    DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_RECORDED_HEADERS, IDEMPOTENCY_REPLAYED, IdempotencyLayer,
    IdempotencyService, MAX_RESPONSE_BYTES,
};
pub use self::limited_acquire::DEFAULT_MAX_WAITERS;
pub use self::lock::{DEFAULT_MAX_HOLD, LockLayer, LockService, OnDisconnect};
pub use self::on_loss::OnLoss;
pub use self::problem::{DEFAULT_BUSY_RETRY_AFTER, DEFAULT_RETRY_AFTER, Problem, ProblemKind};
pub use self::response_future::ResponseFuture;

/// A boxed error, as in Tower and axum.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Compiles the examples in this crate's README, in that of the repository, and in a chapter of the guide.
#[cfg(all(
    doctest,
    feature = "axum",
    feature = "idempotency",
    feature = "sqlx",
    feature = "tonic"
))]
mod guide {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../README.md")]
    struct RepositoryReadme;
    #[doc = include_str!("../../docs/guide/07-tower.md")]
    struct Tower;
}
