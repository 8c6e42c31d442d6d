//! Runs a request, or replays the recorded response.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use leasehold_core::LockHandle;
use tower_service::Service;

use super::body_fingerprint::{fingerprint, read, read_request};
use super::options::Options;
#[cfg(feature = "sqlx")]
use super::record_in_transaction::take_mark;
use super::recorded_response::Recorded;
use super::store::{Call, NotRecorded, Store};
#[cfg(feature = "sqlx")]
use super::store_in_sql::not_committed;
use crate::limited_acquire::Source;
use crate::problem::{Dialect, outcome_unknown};
use crate::{BoxError, Locked, Problem, ProblemKind, ResponseBody};

/// What all requests of a service share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) source: Source,
    pub(super) store: Arc<dyn Store>,
    pub(super) options: Arc<Options>,
}

impl Shared {
    pub(super) fn refuse(&self, problem: Problem, dialect: Dialect) -> Response<Bytes> {
        self.options.refusal.answer(problem, dialect)
    }
}

/// How far the handler came.
struct Run<B, E> {
    started: bool,
    output: Option<Result<Response<ResponseBody<B>>, E>>,
    /// The output as it is recorded, or `None` if it is not to be recorded.
    recorded: Option<Recorded>,
}

pub(super) async fn handle<S, Q, B>(
    shared: Arc<Shared>,
    key: String,
    service: S,
    request: Request<Q>,
) -> Result<Response<ResponseBody<B>>, S::Error>
where
    S: Service<Request<Q>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    Q: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    Q::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let dialect = Dialect::of(request.headers());
    let (head, body) = request.into_parts();
    // Before the lock is acquired, because a client may send its body slowly.
    let options = &shared.options;
    let most = options.max_request_bytes.min(options.max_buffered_bytes);
    let ran = match read_request(body, most, &options.buffer).await {
        Ok((body, space)) => {
            let fingerprint = fingerprint(&head, &body);
            let request = Request::from_parts(head, Q::from(body));
            let (on_disconnect, tasks) = (options.on_disconnect, options.tasks.clone());
            let ran = run(Arc::clone(&shared), key, fingerprint, service, request);
            let ran = async move {
                let _space = space;
                ran.await
            };
            on_disconnect.run(&tasks, ran).await
        }
        Err(problem) => Err(problem),
    };
    ran.unwrap_or_else(|problem| Ok(shared.refuse(problem, dialect).map(ResponseBody::answer)))
}

/// Returns the response or the error of the service, the recorded response, or a problem.
async fn run<S, Q, B>(
    shared: Arc<Shared>,
    key: String,
    fingerprint: Bytes,
    service: S,
    request: Request<Q>,
) -> Result<Result<Response<ResponseBody<B>>, S::Error>, Problem>
where
    S: Service<Request<Q>, Response = Response<B>> + Send,
    S::Future: Send,
    S::Error: Send,
    Q: Send,
    B: Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    shared.options.check()?;
    let call = Call {
        key,
        fingerprint: fingerprint.clone(),
        options: Arc::clone(&shared.options),
        #[cfg(feature = "sqlx")]
        attempted: Arc::default(),
    };
    let mut run = Run {
        started: false,
        output: None,
        recorded: None,
    };
    let accepted = {
        let (call, run) = (&call, &mut run);
        let work = move |lock| Box::pin(work(call, service, request, run, lock)) as _;
        shared.store.run(&shared.source, call, Box::new(work)).await
    };
    match (accepted, run.output) {
        (Ok(accepted), _) if accepted.fingerprint.0 != fingerprint => {
            Err(Problem::new(ProblemKind::KeyReused))
        }
        // The output has more headers than the recorded response.
        (Ok(accepted), Some(output)) if run.recorded.as_ref() == Some(&accepted) => Ok(output),
        (Ok(accepted), _) => match accepted.replay() {
            Ok(response) => Ok(Ok(response.map(ResponseBody::answer))),
            Err(_) => Err(outcome_unknown("the recorded response is invalid")),
        },
        (Err(NotRecorded::Passed), Some(output)) => Ok(output),
        (Err(NotRecorded::Passed), None) => Err(outcome_unknown("the handler did not respond")),
        (Err(NotRecorded::Refused(problem)), _) => Err(match (problem.kind(), run.started) {
            (ProblemKind::Contended, false) => {
                problem.with_detail("a request with the same key is outstanding")
            }
            (ProblemKind::Unavailable | ProblemKind::Misconfigured, true) => {
                outcome_unknown("the response was not recorded")
            }
            _ => problem,
        }),
    }
}

/// Runs the service under the lock.
async fn work<S, Q, B>(
    call: &Call,
    mut service: S,
    mut request: Request<Q>,
    run: &mut Run<B, S::Error>,
    lock: LockHandle,
) -> Result<Recorded, NotRecorded>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    run.started = true;
    let options = &call.options;
    let extensions = request.extensions_mut();
    #[cfg(feature = "sqlx")]
    if options.in_database {
        extensions.insert(super::IdempotentRequest::new(call.clone(), lock.token()));
    }
    extensions.insert(Locked(lock.clone()));
    // The lock guards the request. Writes of requests with different keys to the same data need a lock of that data.
    let response = pin!(service.call(request));
    let response = match lock.scope_without_fence(response).await {
        Ok(response) => response,
        Err(error) => {
            run.output = Some(Err(error));
            return Err(NotRecorded::Passed);
        }
    };
    #[cfg(feature = "sqlx")]
    let (response, by_handler) = take_mark(response);
    #[cfg(not(feature = "sqlx"))]
    let by_handler = false;
    let (head, body) = response.into_parts();
    if !by_handler && !(options.record_if)(&head) {
        let response = Response::from_parts(head, ResponseBody::passing(body));
        run.output = Some(Ok(response));
        return Err(NotRecorded::Passed);
    }
    let most = options.max_response_bytes;
    let body = read(body, most).await;
    let body = body.map_err(|it| it.of_response(most))?;
    let fingerprint = call.fingerprint.clone();
    let recorded = Recorded::new(fingerprint, &head, &options.headers, body.clone());
    run.recorded = Some(recorded.clone());
    run.output = Some(Ok(Response::from_parts(head, ResponseBody::answer(body))));
    #[cfg(feature = "sqlx")]
    if by_handler {
        // The store must not insert this response. If the handler has committed it, the store finds it.
        return Err(not_committed().into());
    }
    Ok(recorded)
}
