use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use leasehold_core::FenceStore;
use tower_layer::Layer;

use super::ordered_admission::Lines;
use super::service::FenceService;
use super::shared_state::Gate;
use crate::Problem;
use crate::key::{KeyExtractor, Keyed};
use crate::methods::Methods;
use crate::problem::Refusal;

/// The default time that a request waits for earlier requests of the same resource: 5 s.
pub const DEFAULT_QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// The default limit for how far a token may be ahead of the time of day: one day.
pub const DEFAULT_TOKEN_LEAD: Duration = Duration::from_secs(60 * 60 * 24);

/// Refuses requests with a fencing token that is older than the resource's last seen token.
///
/// The layer handles the requests of one resource one at a time, in the order of arrival. It passes the token of each
/// request to the [`FenceStore`], which stores a newer token as the last seen token. The layer refuses an older token
/// with 412. The handler gets the token as [`FencedToken`](crate::FencedToken).
///
/// # What it protects
///
/// | the resource is changed by | |
/// |---|---|
/// | this process only, before the handler's future ends | protected: each admitted request ends before the next one starts |
/// | several processes, on one database | not by this layer alone, because the older write may come last. The handler must pass the token to the database: `Fence::new(fenced.token())` of `leasehold-sqlx` |
/// | tasks that the handler spawns, a body that is sent later, or an upgraded connection | not protected |
///
/// Clones of a layer share its wait queues, so use one layer for all routes of a resource. To keep the last seen tokens
/// after a restart, use a persistent store.
///
/// # Where to add it
///
/// Add the layer inside of authentication, and only for clients that are trusted to hold the lock. A token is a plain
/// number, and does not prove that a lock granted it. A client that may send `x-fencing-token` can send a larger token
/// than other clients have. Such a client then blocks the other clients from the resource.
///
/// A token is never larger than the time of day in microseconds. The layer refuses a token with 400 if it is further
/// ahead of this server's clock than [`token_lead`](Self::token_lead). So a client can block others for at most the
/// time `token_lead`. Each new resource adds a last seen token to the store, so untrusted clients could also fill the
/// store.
///
/// To unblock a resource, delete its last seen token: the key `{fence:..}:lh1:mark` of a `RedisFenceStore`, or the row
/// in `leasehold_fences` of a `SqlFenceStore`. An `InProcessFenceStore` loses its tokens when the process ends. After
/// the deletion, the store accepts any token until it gets a newer one. So make sure that no older holder is still
/// running.
///
/// # Default
///
/// | setting | default | change it with |
/// |---|---|---|
/// | methods | all except GET, HEAD, OPTIONS and TRACE | [`methods`](Self::methods), [`all_methods`](Self::all_methods) |
/// | wait for earlier requests | 5 s, then 409 | [`queue_timeout`](Self::queue_timeout) |
/// | waiters | 1024 in this layer, over all resources; then 503 | [`max_waiters`](Self::max_waiters) |
/// | largest token | one day ahead of the time of day | [`token_lead`](Self::token_lead) |
/// | longest key | 256 bytes | [`max_key_bytes`](Self::max_key_bytes) |
/// | refusals | `application/problem+json`; stale 412, no token 428, bad token 400, store down 503 | [`rejection`](Self::rejection) |
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "axum")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::{Router, body::Body, http::Request, routing::put};
/// use leasehold::InProcessFenceStore;
/// use leasehold_tower::{FenceLayer, FencedToken, key};
/// use tower::ServiceExt;
///
/// async fn write(fenced: FencedToken) -> String {
///     format!("written to {} under token {}", fenced.resource(), fenced.token())
/// }
///
/// let fence = FenceLayer::new(InProcessFenceStore::new(), key::path("file:{name}").raw("name"));
/// let app: Router = Router::new().route("/files/{name}", put(write)).route_layer(fence);
///
/// let put = |token| Request::put("/files/report").header("x-fencing-token", token).body(Body::empty());
/// assert_eq!(app.clone().oneshot(put("6")?).await?.status(), 200);
/// assert_eq!(app.clone().oneshot(put("5")?).await?.status(), 412);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "axum"))]
/// # fn main() {}
/// ```
#[must_use = "a layer does nothing until it is put around a service"]
pub struct FenceLayer<K> {
    key: Keyed<K>,
    gate: Gate,
}

impl<K: KeyExtractor> FenceLayer<K> {
    /// Creates a layer. `key` returns the resource of a request, and `store` stores the last seen tokens.
    pub fn new(store: impl FenceStore + 'static, key: K) -> Self {
        Self {
            key: Keyed::new(key),
            gate: Gate {
                store: Arc::new(store),
                lines: Lines::default(),
                methods: Methods::default(),
                queue_timeout: DEFAULT_QUEUE_TIMEOUT,
                token_lead: DEFAULT_TOKEN_LEAD,
                refusal: Refusal::default(),
            },
        }
    }

    /// Fences only requests with these methods. Other requests pass through. GET includes HEAD, because axum runs the
    /// same handler for both.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.gate.methods = Methods::only(methods);
        self
    }

    /// Fences all requests, including those with safe methods.
    pub fn all_methods(mut self) -> Self {
        self.gate.methods = Methods::All;
        self
    }

    /// Sets how long a request waits for earlier requests of the same resource. After that time, the layer refuses the
    /// request with 409. So a handler that hangs delays each later request by at most `limit`.
    pub fn queue_timeout(mut self, limit: Duration) -> Self {
        self.gate.queue_timeout = limit;
        self
    }

    /// Sets how many requests may wait concurrently, in all services of this layer and over all resources. The layer
    /// immediately refuses a further request with 503.
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.gate.lines.max_waiters(most);
        self
    }

    /// Sets how far a token may be ahead of this server's time of day. The layer refuses a token that is further ahead
    /// with 400, and does not send it to the store. With `Duration::MAX`, the layer sends every token to the store.
    ///
    /// A lock gets a token beyond this limit only if the clock of its backend was set forward by more than `lead`.
    /// Tokens never decrease, even if that clock is corrected.
    ///
    /// Tokens of Redis and of in-process locks follow the time of day in microseconds. Tokens of `ZooKeeper` are far
    /// smaller. If your own backend has larger tokens, use `Duration::MAX`.
    pub fn token_lead(mut self, lead: Duration) -> Self {
        self.gate.token_lead = lead;
        self
    }

    /// Sets the longest key that a request may use, in bytes. The layer refuses a longer key with 400.
    pub fn max_key_bytes(mut self, most: usize) -> Self {
        self.key.max_bytes = most;
        self
    }

    /// Sets the response of refused requests: see [`LockLayer::rejection`](crate::LockLayer::rejection).
    pub fn rejection<F>(mut self, rejection: F) -> Self
    where
        F: Fn(Problem) -> Response<Bytes> + Send + Sync + 'static,
    {
        self.gate.refusal = Refusal::by(rejection);
        self
    }
}

impl<K> Clone for FenceLayer<K> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            gate: self.gate.clone(),
        }
    }
}

impl<S, K> Layer<S> for FenceLayer<K> {
    type Service = FenceService<S, K>;

    fn layer(&self, inner: S) -> Self::Service {
        FenceService::new(inner, self.key.clone(), Arc::new(self.gate.clone()))
    }
}

impl<K> fmt::Debug for FenceLayer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceLayer")
            .field("key", &self.key)
            .field("gate", &self.gate)
            .finish()
    }
}
