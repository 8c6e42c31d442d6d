use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use leasehold::FenceStore;
use tower_layer::Layer;

use super::gate::Gate;
use super::line::Lines;
use super::service::FenceService;
use crate::Problem;
use crate::key::{KeyExtractor, Keyed};
use crate::methods::Methods;
use crate::problem::Refusal;

/// How long a request waits for those before it at the same resource, unless told otherwise: 5 s.
pub const DEFAULT_LINE_LIMIT: Duration = Duration::from_secs(5);

/// How far a token may be ahead of the time of day, unless told otherwise: a day.
pub const DEFAULT_TOKEN_LEAD: Duration = Duration::from_secs(60 * 60 * 24);

/// The resource's side: refuses requests whose fencing token is older than the newest that has been there.
///
/// The requests of one resource are handled one at a time, in the order in which they came. When it is its turn, a
/// request's token is shown to the [`FenceStore`]: an older one is answered with 412, a newer one noted, and the handler
/// gets it as [`FencedToken`](crate::FencedToken).
///
/// # What it protects
///
/// | the resource is changed by | |
/// |---|---|
/// | this process alone, before the handler's future ends | protected: a request that was admitted is done before the next is |
/// | several processes, on one database | not by this alone: two requests may be admitted in two processes, and the older one's write come last. Give the token on: `Fence::new(fenced.token())` of `leasehold-sqlx` compares it in the write |
/// | tasks that the handler spawns, a body that is sent later, or an upgraded connection | not protected |
///
/// Clones of a layer share its lines: make one for all routes of a resource. A mark that is to outlive the process needs a
/// store that does.
///
/// # Where it belongs
///
/// Inside of authentication, and for clients alone that are trusted to hold the lock. A token is a number, and nothing
/// proves that it was granted: whoever may send `x-fencing-token` can show one that is larger than those of the others, and
/// keeps them out of that resource. Tokens are drawn no higher than the time of day in microseconds, so that one which is
/// further ahead of this server's clock than [`token_lead`](Self::token_lead) is refused with 400: nobody is kept out for
/// longer than that. A new resource is a new mark in the store, so strangers could fill that, too.
///
/// To recover, delete the mark: the key `{fence:..}:lh1:mark` of a `RedisFenceStore`, the row in `fences` of a
/// `SqlFenceStore`; those of an `InProcessFenceStore` end with the process. From then on any token is admitted until a
/// newer one is shown, so have no older holder at work then.
///
/// # Default
///
/// | | value | change it with |
/// |---|---|---|
/// | methods | all that are not safe: not GET, HEAD, OPTIONS, TRACE | [`methods`](Self::methods), [`all_methods`](Self::all_methods) |
/// | wait for those before | 5 s, then 409 | [`line_limit`](Self::line_limit) |
/// | waiters | 1024 in this layer, over all resources; then 503 | [`max_waiters`](Self::max_waiters) |
/// | largest token | a day ahead of the time of day | [`token_lead`](Self::token_lead) |
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
/// let fence = FenceLayer::new(InProcessFenceStore::new(), key::path("file:{name}"));
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
    /// A fence around what `key` names, whose newest tokens are in `store`.
    pub fn new(store: impl FenceStore + 'static, key: K) -> Self {
        Self {
            key: Keyed::new(key),
            gate: Gate {
                store: Arc::new(store),
                lines: Lines::default(),
                methods: Methods::default(),
                line_limit: DEFAULT_LINE_LIMIT,
                token_lead: DEFAULT_TOKEN_LEAD,
                refusal: Refusal::default(),
            },
        }
    }

    /// Fences requests with these methods alone; others pass through. GET covers HEAD: axum runs the same handler for both.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.gate.methods = Methods::only(methods);
        self
    }

    /// Fences all requests, those with safe methods too.
    pub fn all_methods(mut self) -> Self {
        self.gate.methods = Methods::All;
        self
    }

    /// How long a request waits for those before it. Then it is refused with 409: a handler that hangs holds up its
    /// successors for so long and no longer.
    pub fn line_limit(mut self, limit: Duration) -> Self {
        self.gate.line_limit = limit;
        self
    }

    /// How many requests may wait for others at once, in all services of this layer and over all resources. One more is
    /// refused with 503 at once.
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.gate.lines.max_waiters(most);
        self
    }

    /// How far a token may be ahead of this server's time of day. One that is further ahead is refused with 400, and not
    /// shown to the store: no lock can have drawn it, but where a server of the locks had its clock set forward by so much,
    /// since tokens never go back. `Duration::MAX` takes any token.
    ///
    /// Tokens of Redis and of locks in process follow the time of day in microseconds; those of `ZooKeeper` are far below
    /// it. For a backend of your own with larger ones take `Duration::MAX`.
    pub fn token_lead(mut self, lead: Duration) -> Self {
        self.gate.token_lead = lead;
        self
    }

    /// The longest key that a request may name. Longer ones are a 400.
    pub fn max_key_bytes(mut self, most: usize) -> Self {
        self.key.max_bytes = most;
        self
    }

    /// Answers in your own way where the request is refused; see [`LockLayer::rejection`](crate::LockLayer::rejection).
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
