//! Runs a request under its lock. Always drops the request's future before the guard.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use leasehold_core::kind::Releasable;
use leasehold_core::{EndReason, Error, Lock, LockGuard};
use tower_service::Service;

use super::options::{Options, Until};
use crate::body::Custody;
use crate::limited_acquire::Source;
use crate::problem::Dialect;
use crate::release_guard::give_back;
use crate::{BoxError, Locked, OnLoss, Problem, ProblemKind, ResponseBody, events};

/// The options for one request.
pub(super) struct Guarding {
    options: Arc<Options>,
    dialect: Dialect,
    head_only: bool,
    connect: bool,
}

impl Guarding {
    pub(super) fn new(options: Arc<Options>, dialect: Dialect, method: &Method) -> Self {
        Self {
            options,
            dialect,
            head_only: *method == Method::HEAD,
            connect: *method == Method::CONNECT,
        }
    }

    fn refuse<B>(&self, problem: Problem) -> Response<ResponseBody<B>> {
        let response = self.options.refusal.answer(problem, self.dialect);
        response.map(ResponseBody::answer)
    }

    /// Returns whether the server drops the body without sending it.
    fn is_over<B: Body>(&self, response: &Response<B>) -> bool {
        let status = response.status();
        self.head_only
            || status.is_informational()
            || (self.connect && status.is_success())
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            || response.body().is_end_stream()
    }
}

/// Acquires the lock, then runs the request.
pub(super) async fn handle<S, Q, B, T>(
    source: Source,
    lock: Lock<T>,
    guarding: Guarding,
    service: S,
    mut request: Request<Q>,
) -> Result<Response<ResponseBody<B>>, S::Error>
where
    S: Service<Request<Q>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    Q: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    T: Releasable,
{
    let guard = match source.acquire(lock, &guarding.options.lock).await {
        Ok(guard) => guard,
        Err(not) => return Ok(guarding.refuse(not.into())),
    };
    request.extensions_mut().insert(Locked(guard.handle()));
    let (on_disconnect, tasks) = (
        guarding.options.on_disconnect,
        guarding.options.tasks.clone(),
    );
    let work = work(guard, guarding, service, request);
    on_disconnect.run(&tasks, work).await
}

async fn work<S, Q, B, T>(
    guard: LockGuard<T>,
    guarding: Guarding,
    mut service: S,
    request: Request<Q>,
) -> Result<Response<ResponseBody<B>>, S::Error>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
    T: Releasable,
{
    let lock = guard.handle();
    let on_loss = guarding.options.on_loss;
    let mut guard = Some(guard);
    let output = {
        let mut inner = pin!(service.call(request));
        match on_loss {
            OnLoss::Cancel => {
                lock.run(async |_| Ok::<_, Error>(inner.as_mut().await))
                    .await
            }
            OnLoss::Continue => {
                let mut scoped = pin!(lock.scope(inner.as_mut()));
                let ended = tokio::select! {
                    biased;
                    output = &mut scoped => Some(output),
                    _lost = lock.ended() => None,
                };
                Ok(match ended {
                    Some(output) => output,
                    None => {
                        // Drop the guard now, because the backend keeps a lost lease until then.
                        guard = None;
                        scoped.await
                    }
                })
            }
        }
    };
    drop(service);
    let response = match output {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            if let Some(guard) = guard {
                give_back(guard).await;
            }
            return Err(error);
        }
        Err(error) => return Ok(guarding.refuse(error.into())),
    };
    let lost = match (guard, guarding.options.until) {
        (Some(guard), Until::BodyEnd { most })
            if !guarding.is_over(&response) && guard.is_valid() =>
        {
            let custody = Custody::new(guard, most, on_loss);
            return Ok(response.map(|body| ResponseBody::held(body, custody)));
        }
        (Some(guard), _) => give_back(guard).await,
        (None, _) => Some(lock.ended().await.reason),
    };
    match (lost, on_loss) {
        (Some(reason), OnLoss::Continue) => events::went_on_without(lock.key(), reason),
        // Do not replace an error response of the handler, because the client needs its reason.
        (Some(reason), OnLoss::Cancel) if is_success(&response) => {
            return Ok(guarding.refuse(lost_at_the_end(reason)));
        }
        (None, _) | (Some(_), OnLoss::Cancel) => {}
    }
    Ok(response.map(ResponseBody::passing))
}

fn is_success<B>(response: &Response<B>) -> bool {
    let status = response.status();
    !(status.is_client_error() || status.is_server_error())
}

fn lost_at_the_end(reason: EndReason) -> Problem {
    let detail = format!(
        "{reason}; the work is done, but another request may have held the lock at the same time"
    );
    Problem::new(ProblemKind::Lost).with_detail(detail)
}
