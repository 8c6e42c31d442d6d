use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::options::Options;
use super::run_or_replay::{Shared, handle};
use super::store::Store;
use crate::key::{KeyExtractor, Keyed};
use crate::limited_acquire::Source;
use crate::problem::Dialect;
use crate::{BoxError, DEFAULT_MAX_HOLD, ResponseBody, ResponseFuture};

/// A service that replays recorded responses. [`IdempotencyLayer`](crate::IdempotencyLayer) creates it.
///
/// The body of a request is buffered, and then converted from [`Bytes`]. The service returns the errors of the inner
/// service, and does not record them.
///
/// # Panics
///
/// A call panics if the inner service panics. Nothing is recorded. A request with a key also panics in a tokio runtime
/// that was built without `enable_time`.
pub struct IdempotencyService<S, K> {
    inner: S,
    key: Keyed<K>,
    shared: Arc<Shared>,
}

impl<S, K> IdempotencyService<S, K> {
    pub(super) fn new(
        inner: S,
        key: Keyed<K>,
        source: Source,
        store: Arc<dyn Store>,
        mut options: Options,
    ) -> Self {
        if options.lock.max_hold.is_none() && source.locks().max_hold().is_none() {
            options.lock.max_hold = Some(DEFAULT_MAX_HOLD);
        }
        let options = Arc::new(options);
        let shared = Arc::new(Shared {
            source,
            store,
            options,
        });
        Self { inner, key, shared }
    }
}

impl<S, K, Q, B> Service<Request<Q>> for IdempotencyService<S, K>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    K: KeyExtractor,
    Q: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    Q::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, B, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let shared = &self.shared;
        if !shared.options.methods.include(request.method()) {
            return ResponseFuture::passing(self.inner.call(request));
        }
        let (mut head, body) = request.into_parts();
        let key = self.key.of(&mut head);
        let request = Request::from_parts(head, body);
        let key = match key {
            Ok(Some(key)) => key,
            Ok(None) => return ResponseFuture::passing(self.inner.call(request)),
            Err(problem) => {
                let dialect = Dialect::of(request.headers());
                return ResponseFuture::answered(shared.refuse(problem, dialect));
            }
        };
        // Only the polled service is ready. So call the polled service, and store the clone for the next call.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        ResponseFuture::guarded(Box::pin(handle(Arc::clone(shared), key, ready, request)))
    }
}

impl<S: Clone, K> Clone for IdempotencyService<S, K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            key: self.key.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<S: fmt::Debug, K> fmt::Debug for IdempotencyService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyService")
            .field("inner", &self.inner)
            .field("key", &self.key)
            .field("shared", &self.shared)
            .finish()
    }
}
