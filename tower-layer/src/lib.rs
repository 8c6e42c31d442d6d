//! Tower middleware that takes a distributed lock for each request, by route, and its counterpart that refuses the
//! requests of those who have lost theirs.
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
//!     // Read, think, write: one request per order at a time, over all processes.
//!     format!("order {id} shipped under token {}", lock.token())
//! }
//!
//! let locks = LockManager::in_process(); // or LockManager::connect("redis://127.0.0.1").await?
//! // As the handler reads it: `/orders/7` and `/orders/07` are one.
//! let order = key::path("order:{id}").typed::<u64>("id");
//! let app: Router = Router::new()
//!     .route("/orders/{id}/ship", post(ship))
//!     .route_layer(LockLayer::new(locks, order).wait(Duration::from_secs(2)));
//! # }
//! # #[cfg(not(feature = "axum"))]
//! # fn main() {}
//! ```
//!
//! # Which one
//!
//! | | is for |
//! |---|---|
//! | [`LockLayer`] | HTTP and gRPC servers: axum 0.8, tonic 0.14, any Tower service of `http` requests |
//! | [`service::Lock`] | Tower services of any other kind |
//! | [`FenceTokenLayer`] | HTTP clients that work under a lock: sends its fencing token |
//! | [`FenceLayer`] | the server that they write to: refuses older tokens |
//! | [`Problem`] | handlers that lock by themselves, with a `State<LockManager>`: `?` works in them |
//!
//! # What is guaranteed, and what is not
//!
//! The handler of a request that may change something (not GET, HEAD, OPTIONS or TRACE, unless
//! [`LockLayer::all_methods`] or [`LockLayer::methods`] says otherwise) runs under its lock or not at all; while it runs
//! it is dropped as soon as the lock is lost, where it awaits. The lock is released once, when the handler is done or
//! dropped, has failed or panicked, and with [`LockLayer::until_body_end`] when the body is done or dropped. When the
//! backend is down, requests are refused: none runs unlocked. What [`leasehold`] says of its locks holds for these.
//!
//! A lock is not idempotency: a request that is sent again after it was answered runs again, and one that was cut
//! short may have been done in part, or be going on: what a handler had sent to a database when it was dropped may commit
//! beside the next holder, see [`OnDisconnect`]. And a lock alone does not protect data: give the token to what you write to.
//!
//! # Order of layers
//!
//! From the outside in: tracing, CORS, load-shedding, time limit, authentication, then [`LockLayer`], then the
//! handler. CORS preflights are `OPTIONS`, a safe method, and lock nothing. With axum add it with
//! `Router::route_layer` or to a method router, where path parameters are known.
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
//! # Handlers that lock by themselves
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
//!     // A release that is not confirmed goes on in the background, and is no reason to ship again: it fails nothing.
//!     Ok(lock.run(async |_lock| format!("order {id} shipped")).await?)
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
//! A layer locks the handshake, and releases when the handshake is answered, with
//! [`until_body_end`](LockLayer::until_body_end) and [`OnDisconnect::Finish`], too. A [`Locked`] that is moved into the
//! session is no longer valid there: its `lost()` returns [`Released`](leasehold::LossReason::Released). The same holds for
//! other upgrades and for CONNECT.
//!
//! To hold a lock for as long as a session lasts, acquire it in the handler and move the guard into the session. While
//! somebody else is there, the handshake is refused with 409.
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
//!     let edits = async {
//!         while let Some(message) = socket.recv().await {
//!             let _edit = message?; // Write it under `guard.token()`.
//!         }
//!         Ok::<_, axum::Error>(())
//!     };
//!     // At a loss the edits are dropped where they await.
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
//! A client that vanishes without closing is noticed only by what is sent to it, and the watchdog renews its lock until then:
//! send pings and end the session when no answer comes, or set a `max_hold` as above. A graceful shutdown of axum does
//! not wait for sessions; [`LockManager::shutdown`](leasehold::LockManager::shutdown) ends their locks.
//!
//! Do not lock the same key in a layer around that handler: the handler's own acquire is refused as misconfigured then.
//! And name both methods where a layer is to lock handshakes: a WebSocket begins with GET over HTTP/1.1, and with CONNECT
//! over HTTP/2. By default only the second is locked.
//!
//! # Problems
//!
//! Refusals are `application/problem+json` (RFC 9457). Their `type` is this page's address with one of these names
//! behind a `#`. None of them tells the key.
//!
//! | | status | gRPC | |
//! |---|---|---|---|
//! | <span id="contended">`contended`</span> | 409, `Retry-After` | `ABORTED` | somebody else holds the lock; at a fence, somebody is at the resource |
//! | <span id="too-many-waiters">`too-many-waiters`</span> | 409, `Retry-After` | `RESOURCE_EXHAUSTED` | somebody else holds the lock, and enough wait already; at a fence 503 |
//! | <span id="unavailable">`unavailable`</span> | 503, `Retry-After` | `UNAVAILABLE` | the backend failed, or the manager was shut down; nothing was done |
//! | <span id="lost">`lost`</span> | 503 | `ABORTED` | the lock was lost midway; the work may have been done in part |
//! | <span id="outcome-unknown">`outcome-unknown`</span> | 500 | `UNKNOWN` | a release, a renewal or a conversion failed when the lock was had already; the work may have been done |
//! | <span id="missing-key">`missing-key`</span> | 400 | `INVALID_ARGUMENT` | the header that says what to lock is not there |
//! | <span id="invalid-key">`invalid-key`</span> | 400 | `INVALID_ARGUMENT` | too long, or not what a lock can be named; no handover ticket, or a spent one |
//! | <span id="not-found">`not-found`</span> | 404 | `NOT_FOUND` | the row that a statement reads or writes is not there |
//! | <span id="misconfigured">`misconfigured`</span> | 500 | `INTERNAL` | the server's mistake; `detail` names it |
//! | <span id="stale">`stale`</span> | 412 | `FAILED_PRECONDITION` | a newer holder has been at the resource |
//! | <span id="missing-token">`missing-token`</span> | 428 | `INVALID_ARGUMENT` | the resource asks for a fencing token |
//! | <span id="invalid-token">`invalid-token`</span> | 400 | `INVALID_ARGUMENT` | that is no fencing token, or one that no lock can have yet |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `axum` (default) | path parameters and matched paths of axum 0.8, extractors, `Problem: IntoResponse` |
//! | `sqlx` | `Problem: From<leasehold_sqlx::Error>` and `From<sqlx::Error>`; needs Rust 1.94 |
//! | `tonic` | gRPC calls are refused with a gRPC status; `tonic::Status: From<Problem>` |
//!
//! # Traces
//!
//! Events: `leasehold_tower.refused` (`WARN` where the server is to blame, else `DEBUG`),
//! `.stale`, `.went_on_without_lock`, `.body_outlived_lock` (`WARN`). Each has its name in the field `event`, too.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod event;
mod fence;
mod future;
mod giving;
pub mod key;
mod lock;
mod locked;
mod methods;
mod observe;
mod on_loss;
mod problem;
pub mod service;
mod source;

pub use self::body::{BodyCut, ResponseBody};
pub use self::fence::{
    DEFAULT_LINE_LIMIT, DEFAULT_TOKEN_LEAD, FENCING_TOKEN, FenceLayer, FenceService,
    FenceTokenLayer, FenceTokenService, FencedToken,
};
pub use self::future::ResponseFuture;
pub use self::lock::{DEFAULT_MAX_HOLD, LockLayer, LockService, OnDisconnect};
pub use self::locked::Locked;
pub use self::on_loss::OnLoss;
pub use self::problem::{DEFAULT_BUSY_RETRY_AFTER, DEFAULT_RETRY_AFTER, Problem, ProblemKind};
pub use self::source::DEFAULT_MAX_WAITERS;

/// An error of any kind, as Tower and axum have it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
