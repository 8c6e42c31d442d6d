use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderName, Method, Response};
use leasehold_core::{LockManager, LockOptions};
use tokio::sync::Semaphore;
use tower_layer::Layer;

use super::options::{MAX_RESPONSE_BYTES, Options};
use super::service::IdempotencyService;
use super::store::Store;
use super::store_in_locks::InLocks;
use crate::key::{KeyExtractor, Keyed};
use crate::limited_acquire::Source;
use crate::methods::Methods;
use crate::problem::Refusal;
use crate::{OnDisconnect, Problem};

/// Runs the first request with an idempotency key, records its response, and returns the recorded response to each
/// repeat. Follows the IETF draft [The Idempotency-Key HTTP Header Field][draft].
///
/// The first request runs under the lock of its key. The layer records the status, chosen headers and the body of its
/// response, with the fencing token of the lock. A repeat gets these bytes, and the header `Idempotency-Replayed: true`.
/// The handler can access its lock as [`Locked`](crate::Locked).
///
/// | request | response |
/// |---|---|
/// | with a new key | that of the handler |
/// | repeat | the recorded response |
/// | repeat while the first request runs | 409 `contended`, or with [`wait`](Self::wait) the recorded response |
/// | same key, but another method, path, query or body | 422 `key-reused` |
/// | without a key | 400 `missing-key`, or [runs without a lock](crate::key::IdempotencyKey::optional) |
/// | invalid or too long key | 400 `invalid-key` |
/// | body above the limit | 413 `unreadable-body` |
/// | the bodies of concurrent requests take all bytes that the layer may buffer | 503 `overloaded`; the handler did not run |
/// | the store or the lock backend is down | 503 `unavailable`; the handler did not run |
/// | response above the limit | 500 `not-recorded`; the handler ran |
/// | the handler recorded a response, and did not commit it | 500 `not-recorded`; the handler ran |
/// | the store failed after the handler ran | 500 `outcome-unknown` |
/// | the lock was lost, or the handler ran longer than [`max_hold`](Self::max_hold) | 503 `lost`; the handler ran, maybe only in part |
/// | more repeats wait than [`max_waiters`](Self::max_waiters) | 409 `too-many-waiters` |
/// | the table is missing, a record cannot be decoded, or an option is invalid | 500 `misconfigured`; the handler did not run |
///
/// # What is guaranteed
///
/// **The handler of a key may run more than once, and at most one response per key is accepted.** It can run again
/// after a crash, a lost lock, a disconnect, a panic, or a response that is not recorded. Its earlier run may have had
/// a part of its effect, or all of it.
///
/// **Only one effect per key is committed** if the handler writes to one SQL database, and records its response in the
/// same transaction: see `store` and `IdempotentRequest` (feature `sqlx`). The key is the primary key of the records. So
/// the transaction of a second execution fails, and its client gets the recorded response of the first one. Effects
/// outside of that transaction can happen more than once.
///
/// # Where responses are recorded
///
/// | | records are lost |
/// |---|---|
/// | by default: where the manager has its locks, in this process or on Redis (not Redlock) | with the data of the process or of Redis |
/// | `store(SqlIdempotencyStore::new(pool))` (feature `sqlx`) | with the data of the database |
///
/// The layer keeps a record for [`keep`](Self::keep). After that time the same key is a new key. So keep a record for
/// longer than clients repeat, and for longer than an instance can be paused.
///
/// # Default
///
/// | setting | default | change it with |
/// |---|---|---|
/// | methods | POST and PATCH; other requests pass through | [`methods`](Self::methods) |
/// | a record is kept | 24 h | [`keep`](Self::keep) |
/// | recorded responses | all without the header `Retry-After`, including 4xx and 5xx | [`record_if`](Self::record_if) |
/// | recorded headers | [`DEFAULT_RECORDED_HEADERS`](crate::DEFAULT_RECORDED_HEADERS) | [`recorded_headers`](Self::recorded_headers) |
/// | largest request body | 2 MiB | [`max_request_bytes`](Self::max_request_bytes) |
/// | sum of the buffered request bodies | 64 MiB in this layer | [`max_buffered_bytes`](Self::max_buffered_bytes) |
/// | largest response body | 64 KiB | [`max_response_bytes`](Self::max_response_bytes) |
/// | longest key | 256 bytes, with the name of the header and the principal | [`max_key_bytes`](Self::max_key_bytes) |
/// | wait | none: 409 | [`wait`](Self::wait) |
/// | waiters | 1024 in this layer | [`max_waiters`](Self::max_waiters) |
/// | TTL | the manager's | [`ttl`](Self::ttl) |
/// | longest run of a handler | the manager's longest hold time, or 60 s | [`max_hold`](Self::max_hold) |
/// | client disconnects | the handler is dropped, and nothing is recorded: a repeat runs again | [`on_disconnect`](Self::on_disconnect) |
/// | refusals | `application/problem+json` | [`rejection`](Self::rejection) |
///
/// # Limits
///
/// - The layer buffers the bodies of requests and responses. It records neither trailers nor upgraded connections, so do
///   not add it to gRPC routes.
/// - Two requests with the same meaning but different bytes, such as other spaces in JSON, are different requests.
/// - If a handler acquires another lock and it is busy, respond with [`Problem`]. The layer does not record this 409,
///   because it has a `Retry-After`.
///
/// # Where to add it
///
/// Add the layer inside of authentication, and next to the handler, like a [`LockLayer`](crate::LockLayer). Scope the
/// keys to a principal: otherwise a client can read the response of another client by sending its key and its request.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "axum")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use axum::body::{Body, to_bytes};
/// use axum::http::Request;
/// use axum::{Router, routing::post};
/// use leasehold::LockManager;
/// use leasehold_tower::key::{self, KeyExtractor};
/// use leasehold_tower::IdempotencyLayer;
/// use tower::ServiceExt;
///
/// static PAYMENTS: AtomicU64 = AtomicU64::new(0);
///
/// async fn pay(amount: String) -> String {
///     let id = PAYMENTS.fetch_add(1, Ordering::Relaxed);
///     format!("payment {id} of {amount}")
/// }
///
/// let locks = LockManager::in_process(); // or LockManager::connect("redis://127.0.0.1").await?
/// let key = key::idempotency_key().with_principal(|request| {
///     // The id of the user, set by an outer authenticating layer.
///     request.extensions.get::<String>().cloned()
/// });
/// let app: Router = Router::new()
///     .route("/payments", post(pay))
///     .route_layer(IdempotencyLayer::new(locks, key));
///
/// let request = |amount: &str| {
///     Request::post("/payments")
///         .header("idempotency-key", "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"")
///         .extension("alice".to_owned())
///         .body(Body::from(amount.to_owned()))
/// };
/// let first = app.clone().oneshot(request("10 EUR")?).await?;
/// let repeat = app.clone().oneshot(request("10 EUR")?).await?;
/// assert_eq!(repeat.headers()["idempotency-replayed"], "true");
/// let (first, repeat) = (first.into_body(), repeat.into_body());
/// assert_eq!(to_bytes(first, 99).await?, to_bytes(repeat, 99).await?);
/// assert_eq!(PAYMENTS.load(Ordering::Relaxed), 1);
///
/// let other = app.oneshot(request("99 EUR")?).await?;
/// assert_eq!(other.status(), 422);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "axum"))]
/// # fn main() {}
/// ```
///
/// [draft]: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
#[derive(Debug)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct IdempotencyLayer<K> {
    source: Source,
    key: Keyed<K>,
    store: Arc<dyn Store>,
    options: Options,
}

impl<K: KeyExtractor> IdempotencyLayer<K> {
    /// Creates a layer that acquires locks from `locks`, and records responses in the same backend. `key` returns the
    /// key of a request: see [`key::idempotency_key`](crate::key::idempotency_key).
    pub fn new(locks: LockManager, key: K) -> Self {
        Self {
            source: Source::new(locks),
            key: Keyed::new(key),
            store: Arc::new(InLocks),
            options: Options::default(),
        }
    }

    /// Records responses in a database. Then a handler can record its response in the transaction of its writes: see
    /// [`IdempotentRequest`](crate::IdempotentRequest).
    ///
    /// If the handler does so, an error response usually means that nothing was written. Then do not record error
    /// responses, so that a repeat runs again: see [`record_if`](Self::record_if).
    #[cfg(feature = "sqlx")]
    #[cfg_attr(docsrs, doc(cfg(feature = "sqlx")))]
    pub fn store<DB>(mut self, store: leasehold_sqlx::SqlIdempotencyStore<DB>) -> Self
    where
        DB: leasehold_sqlx::FencedDatabase,
    {
        self.store = Arc::new(store);
        self.options.in_database = true;
        self
    }

    /// Sets how long a response is kept: at least 1 ms, and at most [`MAX_RETENTION`](leasehold_core::MAX_RETENTION). With
    /// another value, the layer refuses each request with a key as `misconfigured`. A database keeps whole seconds: it
    /// rounds the value up.
    pub const fn keep(mut self, keep: Duration) -> Self {
        self.options.keep = keep;
        self
    }

    /// Sets which responses are recorded. The layer passes the head of each response to `record_if`. A response that is
    /// not recorded goes to the client unchanged, and a repeat runs again.
    ///
    /// **The default also records a 500 that a handler makes from a database error.** A repeat then gets this 500 until
    /// [`keep`](Self::keep) has passed, even if the database works again. Do not record such responses.
    ///
    /// `record_if` does not apply to a response that the handler itself records with `IdempotentRequest::record`
    /// (feature `sqlx`).
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::LockManager;
    /// use leasehold_tower::{IdempotencyLayer, key};
    ///
    /// let layer = IdempotencyLayer::new(LockManager::in_process(), key::idempotency_key())
    ///     .record_if(|response| response.status.is_success());
    /// # let _layer = layer;
    /// ```
    pub fn record_if<F>(mut self, record_if: F) -> Self
    where
        F: Fn(&Parts) -> bool + Send + Sync + 'static,
    {
        self.options.record_if = Arc::new(record_if);
        self
    }

    /// Sets which headers of a response are recorded. Do not record a header that is valid only once, or that contains
    /// a secret, such as `Set-Cookie`.
    pub fn recorded_headers(mut self, headers: impl IntoIterator<Item = HeaderName>) -> Self {
        self.options.headers = headers.into_iter().collect();
        self
    }

    /// Sets the largest body of a request, in bytes. The layer reads the body before it acquires the lock, and refuses a
    /// longer one with 413.
    pub const fn max_request_bytes(mut self, most: usize) -> Self {
        self.options.max_request_bytes = most;
        self
    }

    /// Sets the largest sum of the request bodies that this layer and its clones buffer, in bytes. A body counts with the
    /// bytes that have arrived, until its request ends or is dropped. While it arrives, its buffer can be twice as long.
    ///
    /// The layer refuses a request whose body would exceed the sum with 503, type `overloaded` and `Retry-After`, and
    /// drops what has arrived. A single body that is longer than the sum gets 413.
    ///
    /// **Clients that never finish their bodies can take the whole sum.** Put a timeout for reading bodies around the
    /// layer, such as `RequestBodyTimeoutLayer` of tower-http.
    ///
    /// Bodies of responses do not count, because the handler has then had its effect. Each of them has at most
    /// [`max_response_bytes`](Self::max_response_bytes).
    pub fn max_buffered_bytes(mut self, most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        self.options.max_buffered_bytes = most;
        self.options.buffer = Arc::new(Semaphore::new(most));
        self
    }

    /// Sets the largest body of a response, in bytes, up to [`MAX_RESPONSE_BYTES`](crate::MAX_RESPONSE_BYTES). A larger
    /// value has the effect of that limit.
    ///
    /// A response with a longer body cannot be recorded, and the client gets a 500 of the type `not-recorded`. **The
    /// handler has then had its effect, and a repeat runs again.**
    /// `IdempotentRequest::record` (feature `sqlx`) checks the limit before the handler commits.
    pub fn max_response_bytes(mut self, most: usize) -> Self {
        self.options.max_response_bytes = most.min(MAX_RESPONSE_BYTES);
        self
    }

    /// Applies the layer only to requests with these methods. Other requests pass through. GET includes HEAD, because
    /// axum runs the same handler for both.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.options.methods = Methods::only(methods);
        self
    }

    /// Sets the options that `options` contains, except `hold_at_least`.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.options.lock = self.options.lock.with(options);
        self.options.lock.hold_at_least = None;
        self
    }

    /// Sets the TTL of the lock: see [`Lock::ttl`](leasehold_core::Lock::ttl).
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.options.lock.ttl = Some(ttl);
        self
    }

    /// Sets the longest time that the handler may run. After that time the lock is lost, and the layer drops the
    /// handler. The default is the manager's setting, or 60 s if the manager has none
    /// ([`DEFAULT_MAX_HOLD`](crate::DEFAULT_MAX_HOLD)).
    pub const fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.lock.max_hold = Some(max_hold);
        self
    }

    /// Sets the name of the lock in metrics and spans, so that you see which route is contended: see
    /// [`Lock::name`](leasehold_core::Lock::name).
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.lock.name = Some(name.into());
        self
    }

    /// Sets how long a repeat waits while the first request runs. After that time the layer refuses the repeat with 409.
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.options.lock.wait = Some(wait);
        self
    }

    /// Sets how many requests may wait concurrently: see [`LockLayer::max_waiters`](crate::LockLayer::max_waiters).
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.source.max_waiters(most);
        self
    }

    /// Sets the longest key, in bytes, up to 512. The name of the header and the principal are parts of the key. The
    /// layer refuses a longer key with 400.
    pub const fn max_key_bytes(mut self, most: usize) -> Self {
        self.key.max_bytes = most;
        self
    }

    /// Sets what happens to a request if its client disconnects, or if an outer layer such as a timeout drops it. With
    /// [`OnDisconnect::Continue`] the request also keeps waiting for its lock, and its response is recorded. So a repeat
    /// gets that response.
    pub const fn on_disconnect(mut self, on_disconnect: OnDisconnect) -> Self {
        self.options.on_disconnect = on_disconnect;
        self
    }

    /// Waits until no request runs in its own task: see [`LockLayer::finished`](crate::LockLayer::finished).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe, because it does not change anything.
    pub async fn finished(&self) {
        OnDisconnect::finished(&self.options.tasks).await;
    }

    /// Sets the response of refused requests: see [`LockLayer::rejection`](crate::LockLayer::rejection).
    pub fn rejection<F>(mut self, rejection: F) -> Self
    where
        F: Fn(Problem) -> Response<Bytes> + Send + Sync + 'static,
    {
        self.options.refusal = Refusal::by(rejection);
        self
    }
}

impl<K> Clone for IdempotencyLayer<K> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            key: self.key.clone(),
            store: Arc::clone(&self.store),
            options: self.options.clone(),
        }
    }
}

impl<S, K> Layer<S> for IdempotencyLayer<K> {
    type Service = IdempotencyService<S, K>;

    fn layer(&self, inner: S) -> Self::Service {
        let (source, store) = (self.source.clone(), Arc::clone(&self.store));
        IdempotencyService::new(inner, self.key.clone(), source, store, self.options.clone())
    }
}
