use std::fmt;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::SystemTime;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body;
use leasehold_core::{AdmitError, FencingToken, Key};
use tower_service::Service;

use super::fencing_extension::FencedToken;
use super::header;
use super::shared_state::Gate;
use crate::key::{KeyExtractor, Keyed};
use crate::problem::Dialect;
use crate::{BoxError, Problem, ProblemKind, ResponseBody, ResponseFuture, events};

/// A placeholder for the prefix of a store.
const PREFIX: &str = "fence:";

/// A service that fences its requests. [`FenceLayer`](crate::FenceLayer) creates it.
///
/// # Panics
///
/// A call panics if the inner service panics. A call also panics outside of a tokio runtime, or if the runtime was
/// built without `enable_time`.
pub struct FenceService<S, K> {
    inner: S,
    key: Keyed<K>,
    gate: Arc<Gate>,
}

impl<S, K> FenceService<S, K> {
    pub(super) const fn new(inner: S, key: Keyed<K>, gate: Arc<Gate>) -> Self {
        Self { inner, key, gate }
    }
}

impl<S, K: KeyExtractor> FenceService<S, K> {
    /// Returns the resource and the token of a request, or `None` if the request is not fenced.
    fn claim(&self, head: &mut Parts) -> Result<Option<(String, FencingToken)>, Problem> {
        let Some(resource) = self.key.of(head)? else {
            return Ok(None);
        };
        // Check the resource by the rules of all stores, so that changing the store does not cause new refusals.
        Key::new(PREFIX, &resource)?;
        let token = header::read(&head.headers)?;
        header::check(token, SystemTime::now(), self.gate.token_lead)?;
        Ok(Some((resource, token)))
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
        if !self.gate.methods.include(request.method()) {
            return ResponseFuture::passing(self.inner.call(request));
        }
        let dialect = Dialect::of(request.headers());
        let (mut head, body) = request.into_parts();
        let claim = match self.claim(&mut head) {
            Ok(claim) => claim,
            Err(problem) => {
                return ResponseFuture::answered(self.gate.refusal.answer(problem, dialect));
            }
        };
        let request = Request::from_parts(head, body);
        let Some((resource, token)) = claim else {
            return ResponseFuture::passing(self.inner.call(request));
        };
        // Only the polled service is ready. So call the polled service, and store the clone for the next call.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let gate = Arc::clone(&self.gate);
        ResponseFuture::guarded(Box::pin(async move {
            match admitted(&gate, &resource, token, ready, request).await {
                Ok(response) => response.map(|it| it.map(ResponseBody::passing)),
                Err(problem) => {
                    let response = gate.refusal.answer(problem, dialect);
                    Ok(response.map(ResponseBody::answer))
                }
            }
        }))
    }
}

/// Waits for the turn, checks the token, and calls the service during the turn.
async fn admitted<S, Q>(
    gate: &Gate,
    resource: &str,
    token: FencingToken,
    mut service: S,
    mut request: Request<Q>,
) -> Result<Result<S::Response, S::Error>, Problem>
where
    S: Service<Request<Q>>,
{
    let turn = tokio::time::timeout(gate.queue_timeout, gate.lines.enter(resource)).await;
    let turn = turn.map_err(|_| Problem::new(ProblemKind::Contended))?;
    let turn = turn.ok_or_else(too_many_waiters)?;
    let admitted = gate.store.admit(resource, token).await;
    if let Err(AdmitError::Stale(stale)) = &admitted {
        events::stale(resource, stale);
    }
    admitted?;
    let fenced = FencedToken::new(token, resource);
    request.extensions_mut().insert(fenced);
    let output = pin!(service.call(request)).await;
    drop(turn);
    Ok(output)
}

fn too_many_waiters() -> Problem {
    Problem::new(ProblemKind::TooManyWaiters).with_status(StatusCode::SERVICE_UNAVAILABLE)
}

impl<S: Clone, K> Clone for FenceService<S, K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            key: self.key.clone(),
            gate: Arc::clone(&self.gate),
        }
    }
}

impl<S: fmt::Debug, K> fmt::Debug for FenceService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceService")
            .field("inner", &self.inner)
            .field("key", &self.key)
            .field("gate", &self.gate)
            .finish()
    }
}
