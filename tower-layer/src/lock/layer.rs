use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use leasehold::LockManager;
use tower_layer::Layer;

use super::options::{Beside, MaxHold, OnDisconnect, Options, Until};
use super::service::LockService;
use crate::key::{KeyExtractor, Keyed};
use crate::methods::Methods;
use crate::problem::Refusal;
use crate::source::Source;
use crate::{OnLoss, Problem};

/// Takes a lock for each request that may change something, and holds it while the request is handled.
///
/// The handler of such a request runs under its lock, or not at all; those of GET, HEAD, OPTIONS and TRACE run without one,
/// unless [`methods`](Self::methods) or [`all_methods`](Self::all_methods) says otherwise. It sees the lock as [`Locked`](crate::Locked); a nested acquire of
/// the same lock is an error at once, and no deadlock. The lock is released, and the release confirmed, before the
/// response goes out: a client that has its answer can send the next request.
///
/// # Default
///
/// | | value | change it with |
/// |---|---|---|
/// | methods | all that are not safe: not GET, HEAD, OPTIONS, TRACE | [`methods`](Self::methods), [`all_methods`](Self::all_methods) |
/// | beside others | nobody | [`shared`](Self::shared), [`permits`](Self::permits) |
/// | TTL | the manager's; with renewal on, how long after a crash | [`ttl`](Self::ttl) |
/// | longest hold | the manager's; where it has none 60 s, and what a body may take | [`max_hold`](Self::max_hold), [`no_max_hold`](Self::no_max_hold) |
/// | wait | none: a busy lock is a 409 at once | [`wait`](Self::wait) |
/// | waiters | 1024 in this layer | [`max_waiters`](Self::max_waiters) |
/// | longest key | 256 bytes | [`max_key_bytes`](Self::max_key_bytes) |
/// | held until | the service has made the response | [`until_body_end`](Self::until_body_end) |
/// | lock lost midway | the handler is dropped, 503 | [`on_loss`](Self::on_loss) |
/// | client gone | the handler is dropped | [`on_disconnect`](Self::on_disconnect) |
/// | refusals | `application/problem+json` | [`rejection`](Self::rejection) |
///
/// # Where it belongs
///
/// Innermost, next to the handler: inside of tracing, CORS, load-shedding, time limits and authentication. A time
/// limit that is hit then drops the handler and frees the lock; inside of this layer it would not count the wait. With
/// [`OnDisconnect::Finish`] it does neither, as it drops the request like a client that goes: there
/// [`max_hold`](Self::max_hold) ends the handler, or a second limit inside.
/// A service that reserves room in `poll_ready` keeps it reserved while the request waits for its lock: hence the
/// bound on waiters.
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
    /// A layer that locks what `key` says, through `locks`.
    pub fn new(locks: LockManager, key: K) -> Self {
        Self {
            source: Source::new(locks),
            key: Keyed::new(key),
            options: Options::default(),
        }
    }

    /// Handles a request as a reader: beside others of this kind, and not beside one that has the lock alone. A
    /// waiting writer lets no new reader pass. Put it on the routes that read, and name their
    /// [`methods`](Self::methods): those that are safe pass a layer by default.
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
    /// let read = LockLayer::new(locks, order).shared().methods([Method::GET]);
    /// # let _layers = (write, read);
    /// ```
    pub fn shared(mut self) -> Self {
        self.options.beside = Beside::Readers;
        self
    }

    /// Handles so many requests at once per key, over all processes: a concurrency limit for all instances together.
    /// What a crashed instance had is free again after the TTL. See
    /// [`LockManager::semaphore`](leasehold::LockManager::semaphore).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    /// use leasehold_tower::{LockLayer, key};
    ///
    /// let reports = LockLayer::new(LockManager::in_process(), key::from_fn(|_| Some("reports".to_owned())))
    ///     .permits(4)
    ///     .all_methods()
    ///     .wait(Duration::from_secs(2));
    /// # let _layer = reports;
    /// ```
    pub fn permits(mut self, permits: u32) -> Self {
        self.options.beside = Beside::Others(permits);
        self
    }

    /// Locks requests with these methods alone; others pass through. GET covers HEAD: axum runs the same handler for both. It
    /// does not cover CONNECT, with which a [WebSocket](crate#websocket-sessions) begins over HTTP/2.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.options.methods = Methods::only(methods);
        self
    }

    /// Locks all requests, those with safe methods too.
    pub fn all_methods(mut self) -> Self {
        self.options.methods = Methods::All;
        self
    }

    /// See [`Lock::ttl`](leasehold::Lock::ttl). One that cannot work is answered to each request, as misconfigured.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.terms.ttl = Some(ttl);
        self
    }

    /// The longest time that a request may have its lock, renewals included: see
    /// [`Lock::max_hold`](leasehold::Lock::max_hold). The lock is lost then, as [`on_loss`](Self::on_loss) says, and others
    /// can have it, also if a client reads nothing or the handler goes on.
    ///
    /// A handler reads its request's body under the lock: a client that sends slowly, or without end, has the lock for so
    /// long. Unless told otherwise that is what the manager says, and where it says nothing 60 s
    /// ([`DEFAULT_MAX_HOLD`](crate::DEFAULT_MAX_HOLD)); with [`until_body_end`](Self::until_body_end) what the body may take
    /// comes on top.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = MaxHold::Most(max_hold);
        self
    }

    /// Has no longest hold but the manager's, which is none by default. Then put a time limit around the handler: without
    /// any, a client that sends its request's body slowly has the lock for as long as it likes.
    pub fn no_max_hold(mut self) -> Self {
        self.options.max_hold = MaxHold::AsManager;
        self
    }

    /// How long a request waits for a busy lock before it is refused with 409. Waiters are served in the order in
    /// which they came. Who may wait is also not told of an outage at once, but when it has lasted for the wait, or
    /// for the manager's outage limit.
    ///
    /// Over HTTP/2 the requests of one connection share a flow-control window, and the bodies of those that wait stay in it
    /// unread. If they fill it, a request on the same connection that has the lock gets no more of its own body until
    /// they are refused. Where bodies are large, keep the wait short, or have the server allow a connection
    /// window as large as all its streams' together.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.terms.wait = wait;
        self
    }

    /// How many requests may wait at once, in all services of this layer and over all keys. One more is refused with
    /// 409 at once.
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.source.max_waiters(most);
        self
    }

    /// The longest key that a request may name. Longer ones are a 400.
    pub fn max_key_bytes(mut self, most: usize) -> Self {
        self.key.max_bytes = most;
        self
    }

    /// Holds the lock until the response's body is at its end, or dropped, and no longer than `most` from when the
    /// response was made: a client that reads slowly must not own a lock. What is not at its end by then is cut off,
    /// or with [`OnLoss::Continue`] goes on without. What makes the body holds the lock as the handler does: a nested acquire
    /// is an error at once.
    ///
    /// A response without a body, to HEAD, with 204 or 304, an upgrade (101) or a 2xx to CONNECT releases at once. What an
    /// upgraded connection does has to be locked there: see [WebSocket sessions](crate#websocket-sessions).
    pub fn until_body_end(mut self, most: Duration) -> Self {
        self.options.until = Until::BodyEnd { most };
        self
    }

    /// What happens to a request whose lock is lost midway.
    pub fn on_loss(mut self, on_loss: OnLoss) -> Self {
        self.options.on_loss = on_loss;
        self
    }

    /// What happens to a request whose client has gone, or that a layer outside of this one drops, as time limits do.
    pub fn on_disconnect(mut self, on_disconnect: OnDisconnect) -> Self {
        self.options.on_disconnect = on_disconnect;
        self
    }

    /// Returns when no handler is at work in a task of its own: see [`OnDisconnect::Finish`]. Those whose clients are there
    /// are counted, too, so that the server is to be stopped first. A handler that hangs is waited for until
    /// [`max_hold`](Self::max_hold) drops it, and [without](Self::no_max_hold) for ever.
    ///
    /// # Cancel safety
    ///
    /// It only looks.
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
    ///     .on_disconnect(OnDisconnect::Finish);
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
        // Tasks may be spawned all the same: it is only how waiting is allowed.
        self.options.tasks.close();
        self.options.tasks.wait().await;
    }

    /// Answers in your own way where the request is refused: other statuses, other formats. gRPC calls (feature
    /// `tonic`) are answered with a gRPC status all the same.
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
