use std::fmt;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use leasehold::FencingToken;
use tower_service::Service;

use super::fenced::FencedToken;
use super::header;
use super::layer::Fence;
use crate::key::{KeyExtractor, Keyed};
use crate::problem::Dialect;
use crate::{BoxError, Problem, ProblemKind, ResponseBody, ResponseFuture};

/// A service behind a fence. Made by [`FenceLayer`](crate::FenceLayer).
///
/// # Panics
///
/// A call panics if the inner service does, and in a tokio runtime that was built without `enable_time`, or in none.
pub struct FenceService<S, K> {
    inner: S,
    key: Keyed<K>,
    fence: Arc<Fence>,
}

impl<S, K> FenceService<S, K> {
    pub(super) const fn new(inner: S, key: Keyed<K>, fence: Arc<Fence>) -> Self {
        Self { inner, key, fence }
    }
}

impl<S, K: KeyExtractor> FenceService<S, K> {
    /// What is fenced and under which token, or `None` if nothing is.
    fn claim(&self, head: &mut Parts) -> Result<Option<(String, FencingToken)>, Problem> {
        match self.key.of(head)? {
            Some(resource) => Ok(Some((resource, header::read(&head.headers)?))),
            None => Ok(None),
        }
    }
}

impl<S, K, Q, B> Service<Request<Q>> for FenceService<S, K>
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
        if !self.fence.methods.include(request.method()) {
            return ResponseFuture::passing(self.inner.call(request));
        }
        let dialect = Dialect::of(request.headers());
        let (mut head, body) = request.into_parts();
        let claim = match self.claim(&mut head) {
            Ok(claim) => claim,
            Err(problem) => {
                return ResponseFuture::answered(self.fence.refusal.answer(problem, dialect));
            }
        };
        let request = Request::from_parts(head, body);
        let Some((resource, token)) = claim else {
            return ResponseFuture::passing(self.inner.call(request));
        };
        // The clone is not ready, and the one that is has to be called.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let fence = Arc::clone(&self.fence);
        ResponseFuture::guarded(Box::pin(async move {
            match admitted(&fence, &resource, token, ready, request).await {
                Ok(response) => response.map(|it| it.map(ResponseBody::passing)),
                Err(problem) => {
                    let response = fence.refusal.answer(problem, dialect);
                    Ok(response.map(ResponseBody::answer))
                }
            }
        }))
    }
}

/// Waits for its turn, shows the token, and calls the service within the turn.
async fn admitted<S, Q>(
    fence: &Fence,
    resource: &str,
    token: FencingToken,
    mut service: S,
    mut request: Request<Q>,
) -> Result<Result<S::Response, S::Error>, Problem>
where
    S: Service<Request<Q>>,
{
    let turn = tokio::time::timeout(fence.line_limit, fence.lines.enter(resource)).await;
    let turn = turn.map_err(|_| Problem::new(ProblemKind::Contended))?;
    fence.store.admit(resource, token).await?;
    let fenced = FencedToken::new(token, resource);
    request.extensions_mut().insert(fenced);
    let output = pin!(service.call(request)).await;
    drop(turn);
    Ok(output)
}

impl<S: Clone, K> Clone for FenceService<S, K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            key: self.key.clone(),
            fence: Arc::clone(&self.fence),
        }
    }
}

impl<S: fmt::Debug, K> fmt::Debug for FenceService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceService")
            .field("inner", &self.inner)
            .field("key", &self.key)
            .field("fence", &self.fence)
            .finish()
    }
}
