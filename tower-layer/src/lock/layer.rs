use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use leasehold_core::{LockManager, LockOptions};
use tower_layer::Layer;

use super::options::{Concurrency, MaxHold, OnDisconnect, Options, Until};
use super::service::LockService;
use crate::key::{KeyExtractor, Keyed};
use crate::limited_acquire::Source;
use crate::methods::Methods;
use crate::problem::Refusal;
use crate::{OnLoss, Problem};

/// Acquires a lock for each request that may change data, and holds it while the handler runs.
///
/// The handler of a locked request runs only under its lock. Requests with GET, HEAD, OPTIONS or TRACE are not locked.
/// [`methods`](Self::methods) and [`all_methods`](Self::all_methods) change which requests are locked. The handler can
/// access its lock as [`Locked`](crate::Locked). A nested acquire of the same lock fails immediately instead of
/// deadlocking.
///
/// The layer waits for the confirmed release before it sends the response. So a client that has its response can
/// immediately send the next request.
///
/// # Default
///
/// | setting | default | change it with |
/// |---|---|---|
/// | methods | all except GET, HEAD, OPTIONS and TRACE | [`methods`](Self::methods), [`all_methods`](Self::all_methods) |
/// | concurrent requests per key | one | [`read`](Self::read), [`max_concurrent`](Self::max_concurrent) |
/// | TTL | the manager's; the watchdog renews it, so it matters only after a crash | [`ttl`](Self::ttl) |
/// | longest hold time | the manager's; if it has none, 60 s plus the time limit of a body | [`max_hold`](Self::max_hold), [`no_max_hold`](Self::no_max_hold) |
/// | shortest hold time | none | [`hold_at_least`](Self::hold_at_least) |
/// | wait | none: if the lock is busy, the request is immediately refused with 409 | [`wait`](Self::wait) |
/// | waiters | 1024 in this layer | [`max_waiters`](Self::max_waiters) |
/// | longest key | 256 bytes | [`max_key_bytes`](Self::max_key_bytes) |
/// | held until | the service returns the response | [`until_body_end`](Self::until_body_end) |
/// | lock lost during the handler | the layer drops the handler and responds with 503 | [`on_loss`](Self::on_loss) |
/// | client disconnects | the handler is dropped, and the layer releases the lock | [`on_disconnect`](Self::on_disconnect) |
/// | refusals | `application/problem+json` | [`rejection`](Self::rejection) |
///
/// # Where to add it
///
/// Add `LockLayer` as the innermost layer, next to the handler: inside of tracing, CORS, load shedding, timeouts and
/// authentication.
///
/// A timeout outside of this layer includes the wait for the lock. When the timeout elapses, it drops the handler and
/// releases the lock. With [`OnDisconnect::Continue`] the timeout does not drop the handler or release the lock. The
/// handler continues as after a disconnect. Use [`max_hold`](Self::max_hold) or a second timeout inside of this layer
/// to end such a handler.
///
/// A service that reserves capacity in `poll_ready` keeps the capacity while the request waits for its lock. So the
/// number of waiters is limited.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "axum")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use axum::{Router, body::Body, extract::Path, http::Request, routing::post};
/// use leasehold::LockManager;
/// use leasehold_tower::{LockLayer, Locked, key};
/// use tower::ServiceExt;
///
/// async fn ship(Locked(lock): Locked, Path(id): Path<u64>) -> String {
///     format!("order {id} under token {}", lock.token())
/// }
///
/// let locks = LockManager::in_process(); // or LockManager::connect("redis://127.0.0.1").await?
/// let lock = LockLayer::new(locks.clone(), key::path("order:{id}").typed::<u64>("id"))
///     .ttl(Duration::from_secs(30));
/// let app: Router = Router::new().route("/orders/{id}/ship", post(ship).layer(lock));
///
/// let request = || Request::post("/orders/42/ship").body(Body::empty());
/// let response = app.clone().oneshot(request()?).await?;
/// assert_eq!(response.status(), 200);
///
/// let _elsewhere = locks.lock("order:42").acquire().await?;
/// let response = app.oneshot(request()?).await?;
/// assert_eq!(response.status(), 409);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "axum"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct LockLayer<K> {
    source: Source,
    key: Keyed<K>,
    options: Options,
}

impl<K: KeyExtractor> LockLayer<K> {
    /// Creates a layer that acquires locks from `locks`. `key` returns the key of a request.
    pub fn new(locks: LockManager, key: K) -> Self {
        Self {
            source: Source::new(locks),
            key: Keyed::new(key),
            options: Options::default(),
        }
    }

    /// Locks requests as readers. A reader runs concurrently with other readers, but not with a writer. New readers
    /// wait behind a waiting writer. Use this method on routes that read, and set [`methods`](Self::methods), because
    /// by default a layer does not lock safe methods.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::Method;
    /// use leasehold::LockManager;
    /// use leasehold_tower::{LockLayer, key};
    ///
    /// let locks = LockManager::in_process();
    /// let order = key::path("order:{id}").typed::<u64>("id");
    /// let write = LockLayer::new(locks.clone(), order.clone());
    /// let read = LockLayer::new(locks, order).read().methods([Method::GET]);
    /// # let _layers = (write, read);
    /// ```
    pub fn read(mut self) -> Self {
        self.options.concurrency = Concurrency::Readers;
        self
    }

    /// Runs at most `permits` requests per key concurrently, over all processes. The permits of a crashed instance
    /// expire after their TTL. See [`LockManager::semaphore`](leasehold_core::LockManager::semaphore).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    /// use leasehold_tower::{LockLayer, key};
    ///
    /// let reports = LockLayer::new(LockManager::in_process(), key::from_fn(|_| Some("reports".to_owned())))
    ///     .max_concurrent(4)
    ///     .all_methods()
    ///     .wait(Duration::from_secs(2));
    /// # let _layer = reports;
    /// ```
    pub fn max_concurrent(mut self, permits: u32) -> Self {
        self.options.concurrency = Concurrency::Others(permits);
        self
    }

    /// Locks only requests with these methods. Other requests pass through. GET includes HEAD, because axum runs the
    /// same handler for both. GET does not include CONNECT, with which a [WebSocket](crate#websocket-sessions) begins
    /// over HTTP/2.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.options.methods = Methods::only(methods);
        self
    }

    /// Locks all requests, including those with safe methods.
    pub fn all_methods(mut self) -> Self {
        self.options.methods = Methods::All;
        self
    }

    /// Sets the options that `options` contains, such as those of a configuration file.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.options.lock = self.options.lock.with(options);
        if let Some(max_hold) = options.max_hold {
            self.options.max_hold = MaxHold::Most(max_hold);
        }
        self
    }

    /// Sets the TTL: see [`Lock::ttl`](leasehold_core::Lock::ttl). If the TTL is invalid, the layer refuses each request as
    /// misconfigured.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.lock.ttl = Some(ttl);
        self
    }

    /// Sets the longest hold time, including renewals: see [`Lock::max_hold`](leasehold_core::Lock::max_hold). After that
    /// time the lock is lost and [`on_loss`](Self::on_loss) applies. Other clients can then acquire the lock, even if
    /// the client does not read its response or the handler continues.
    ///
    /// A handler reads the body of its request under the lock. So a client that sends slowly or endlessly holds the
    /// lock for up to `max_hold`. The default is the manager's setting, or 60 s if the manager has none
    /// ([`DEFAULT_MAX_HOLD`](crate::DEFAULT_MAX_HOLD)). [`until_body_end`](Self::until_body_end) adds the time limit of
    /// the body to the 60 s.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = MaxHold::Most(max_hold);
        self
    }

    /// Uses only the manager's longest hold time, which is unlimited by default. Then add a timeout around the handler.
    /// Without a timeout, a client that sends its body slowly holds the lock without limit.
    pub fn no_max_hold(mut self) -> Self {
        self.options.max_hold = MaxHold::AsManager;
        self
    }

    /// Sets how long the lock stays taken at least, even if the handler ends before. Further requests for the same key
    /// are refused or wait during that time. See [`Lock::hold_at_least`](leasehold_core::Lock::hold_at_least). If the backend
    /// does not support the option or the value, the layer refuses each request as misconfigured.
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.options.lock.hold_at_least = Some(hold_at_least);
        self
    }

    /// Sets the name of the lock in metrics and spans, so that you see which route is contended: see
    /// [`Lock::name`](leasehold_core::Lock::name).
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.lock.name = Some(name.into());
        self
    }

    /// Sets how long a request waits for a busy lock before the layer refuses the request with 409. Waiters get the
    /// lock in the order of arrival. With a wait set, the layer retries backend errors until the wait or the manager's
    /// backend retry timeout elapses.
    ///
    /// Over HTTP/2 the requests of one connection share a flow-control window. The unread bodies of waiting requests
    /// stay in this window. If these bodies fill the window, the request that holds the lock cannot read its own body
    /// until the layer refuses the waiting requests. With large bodies, use a short wait, or a connection window as
    /// large as the windows of all streams together.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.lock.wait = Some(wait);
        self
    }

    /// Sets how many requests may wait concurrently, in all services of this layer and over all keys. The layer
    /// immediately refuses a further request with 409.
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.source.max_waiters(most);
        self
    }

    /// Sets the longest key that a request may use, in bytes. The layer refuses a longer key with 400.
    pub fn max_key_bytes(mut self, most: usize) -> Self {
        self.key.max_bytes = most;
        self
    }

    /// Holds the lock until the response body ends or is dropped, but at most for `most` after the handler has returned
    /// the response. So a client that reads slowly cannot keep the lock. After `most` the body ends with an error. With
    /// [`OnLoss::Continue`] the body continues without the lock. The code that produces the body is a holder like the
    /// handler: a nested acquire of the same lock fails immediately.
    ///
    /// Responses without a body release the lock immediately: responses to HEAD, responses with 101, 204 or 304, and
    /// 2xx responses to CONNECT. An upgraded connection must acquire its own lock: see [WebSocket
    /// sessions](crate#websocket-sessions).
    pub fn until_body_end(mut self, most: Duration) -> Self {
        self.options.until = Until::BodyEnd { most };
        self
    }

    /// Sets what happens to a request if its lock is lost while its handler runs.
    pub fn on_loss(mut self, on_loss: OnLoss) -> Self {
        self.options.on_loss = on_loss;
        self
    }

    /// Sets what happens to a request if its client disconnects, or if an outer layer such as a timeout drops it.
    pub fn on_disconnect(mut self, on_disconnect: OnDisconnect) -> Self {
        self.options.on_disconnect = on_disconnect;
        self
    }

    /// Waits until no handler runs in its own task: see [`OnDisconnect::Continue`]. This method also waits for the
    /// handlers of connected clients, so stop the server first. A handler that hangs ends when
    /// [`max_hold`](Self::max_hold) drops it. With [`no_max_hold`](Self::no_max_hold) this method may wait forever.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe, because it does not change anything.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "axum")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use axum::{Router, routing::post};
    /// use leasehold::LockManager;
    /// use leasehold_tower::{LockLayer, OnDisconnect, key};
    ///
    /// let locks = LockManager::in_process();
    /// let lock = LockLayer::new(locks.clone(), key::path("order:{id}").typed::<u64>("id"))
    ///     .on_disconnect(OnDisconnect::Continue);
    /// let app: Router = Router::new()
    ///     .route("/orders/{id}/ship", post(async || "shipped"))
    ///     .route_layer(lock.clone());
    /// // axum::serve(listener, app).with_graceful_shutdown(..).await?;
    /// # drop(app);
    /// lock.finished().await;
    /// locks.shutdown().await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "axum"))]
    /// # fn main() {}
    /// ```
    pub async fn finished(&self) {
        OnDisconnect::finished(&self.options.tasks).await;
    }

    /// Sets the response of refused requests. For example, you can set another status or another format. Refused gRPC
    /// calls (feature `tonic`) still get a gRPC status.
    ///
    /// # Examples
    ///
    /// ```
    /// use http::StatusCode;
    /// use leasehold::LockManager;
    /// use leasehold_tower::{LockLayer, ProblemKind, key};
    ///
    /// let layer = LockLayer::new(LockManager::in_process(), key::header("idempotency-key"))
    ///     .rejection(|problem| match problem.kind() {
    ///         ProblemKind::Contended => problem.with_status(StatusCode::LOCKED).into_http(),
    ///         _ => problem.into_http(),
    ///     });
    /// # let _layer = layer;
    /// ```
    pub fn rejection<F>(mut self, rejection: F) -> Self
    where
        F: Fn(Problem) -> Response<Bytes> + Send + Sync + 'static,
    {
        self.options.refusal = Refusal::by(rejection);
        self
    }
}

impl<K> Clone for LockLayer<K> {
    fn clone(&self) -> Self {
        Self {
            source: self.source.clone(),
            key: self.key.clone(),
            options: self.options.clone(),
        }
    }
}

impl<S, K> Layer<S> for LockLayer<K> {
    type Service = LockService<S, K>;

    fn layer(&self, inner: S) -> Self::Service {
        let (source, key, options) = (&self.source, &self.key, &self.options);
        LockService::new(inner, source.clone(), key.clone(), options.clone())
    }
}
