use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::options::{Concurrency, Options};
use super::run_under_lock::{Guarding, handle};
use crate::key::{KeyExtractor, Keyed};
use crate::limited_acquire::Source;
use crate::problem::Dialect;
use crate::{BoxError, ResponseBody, ResponseFuture};

/// A service that runs each request under its lock. [`LockLayer`](crate::LockLayer) creates it.
///
/// The service returns the errors of the inner service. It converts the errors of a lock into responses.
///
/// # Panics
///
/// A call panics if the inner service panics. A locked request also panics in a tokio runtime that was built without
/// `enable_time`. Outside of a runtime, the service refuses the request as misconfigured.
pub struct LockService<S, K> {
    inner: S,
    settings: Arc<Settings<K>>,
}

struct Settings<K> {
    source: Source,
    key: Keyed<K>,
    options: Arc<Options>,
}

impl<S, K> LockService<S, K> {
    pub(super) fn new(inner: S, source: Source, key: Keyed<K>, mut options: Options) -> Self {
        let manager = source.locks().max_hold();
        options.lock.max_hold = options.max_hold.of_layer(manager, options.until);
        let settings = Settings {
            source,
            key,
            options: Arc::new(options),
        };
        Self {
            inner,
            settings: Arc::new(settings),
        }
    }
}

impl<S, K, Q, B> Service<Request<Q>> for LockService<S, K>
where
    S: Service<Request<Q>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    K: KeyExtractor,
    Q: Send + 'static,
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
        let settings = &self.settings;
        let options = &settings.options;
        if !options.methods.include(request.method()) {
            return ResponseFuture::passing(self.inner.call(request));
        }
        let dialect = Dialect::of(request.headers());
        let (mut head, body) = request.into_parts();
        let key = match settings.key.of(&mut head) {
            Ok(Some(key)) => key,
            Ok(None) => {
                let request = Request::from_parts(head, body);
                return ResponseFuture::passing(self.inner.call(request));
            }
            Err(problem) => {
                return ResponseFuture::answered(options.refusal.answer(problem, dialect));
            }
        };
        // Only the polled service is ready. So call the polled service, and store the clone for the next call.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let request = Request::from_parts(head, body);
        let guarding = Guarding::new(Arc::clone(options), dialect, request.method());
        let source = settings.source.clone();
        let locks = source.locks().clone();
        let concurrency = options.concurrency;
        ResponseFuture::guarded(match concurrency {
            Concurrency::Exclusive => {
                let lock = locks.lock(&key);
                Box::pin(handle(source, lock, guarding, ready, request))
            }
            Concurrency::Readers => {
                let lock = locks.rw_lock(&key).read();
                Box::pin(handle(source, lock, guarding, ready, request))
            }
            Concurrency::Others(permits) => {
                let lock = locks.semaphore(&key, permits);
                Box::pin(handle(source, lock, guarding, ready, request))
            }
        })
    }
}

impl<S: Clone, K> Clone for LockService<S, K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            settings: Arc::clone(&self.settings),
        }
    }
}

impl<S: fmt::Debug, K> fmt::Debug for LockService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockService")
            .field("inner", &self.inner)
            .field("source", &self.settings.source)
            .field("key", &self.settings.key)
            .field("options", &self.settings.options)
            .finish()
    }
}
