//! Runs a request, or replays the recorded response.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use leasehold::LockHandle;
use tower_service::Service;

use super::content::{NotRead, fingerprint, read};
use super::options::Options;
use super::recorded::Recorded;
use super::store::{Call, NotRecorded, Store};
use crate::problem::{Dialect, outcome_unknown};
use crate::source::Source;
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

/// How far a request came.
enum Progress<B, E> {
    NotStarted,
    Started,
    Ended {
        output: Result<Response<ResponseBody<B>>, E>,
        /// The response as it is recorded, or `None` if it is not to be recorded.
        recorded: Option<Recorded>,
    },
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
    let ran = match read(body, shared.options.max_request_bytes).await {
        Ok(body) => {
            let fingerprint = fingerprint(&head, &body);
            let request = Request::from_parts(head, Q::from(body));
            let on_disconnect = shared.options.on_disconnect;
            let tasks = shared.options.tasks.clone();
            let run = run(Arc::clone(&shared), key, fingerprint, service, request);
            on_disconnect.run(&tasks, run).await
        }
        Err(not_read) => Err(unreadable(&not_read, shared.options.max_request_bytes)),
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
    let call = Call {
        key,
        terms: shared.options.terms,
        keep: shared.options.keep,
        #[cfg(feature = "sqlx")]
        attempted: Arc::default(),
    };
    let mut progress = Progress::NotStarted;
    let asked = fingerprint.clone();
    let accepted = {
        let (shared, call, progress) = (&shared, &call, &mut progress);
        let work = move |lock| work(shared, call, asked, service, request, progress, lock);
        let work = Box::new(|lock| Box::pin(work(lock)) as _);
        shared.store.run(&shared.source, call, work).await
    };
    match (accepted, progress) {
        (Ok(accepted), _) if accepted.fingerprint.0 != fingerprint => {
            Err(Problem::new(ProblemKind::KeyReused))
        }
        // The response of the handler has more headers than the recorded one.
        (Ok(accepted), Progress::Ended { output, recorded })
            if recorded.as_ref() == Some(&accepted) =>
        {
            Ok(output)
        }
        (Ok(accepted), _) => match accepted.replay() {
            Ok(response) => Ok(Ok(response.map(ResponseBody::answer))),
            Err(_) => Err(outcome_unknown("the recorded response is invalid")),
        },
        (Err(NotRecorded::Passed), Progress::Ended { output, .. }) => Ok(output),
        (Err(NotRecorded::Passed), _) => Err(outcome_unknown("the handler did not end")),
        (Err(NotRecorded::Refused(problem)), progress) => Err(match (problem.kind(), progress) {
            (ProblemKind::Contended, Progress::NotStarted) => {
                problem.with_detail("a request with the same key is outstanding")
            }
            (_, Progress::NotStarted) => problem,
            (ProblemKind::Unavailable, _) => outcome_unknown("the response was not recorded"),
            (_, _) => problem,
        }),
    }
}

/// Runs the service under the lock.
async fn work<S, Q, B>(
    shared: &Shared,
    call: &Call,
    fingerprint: Bytes,
    mut service: S,
    mut request: Request<Q>,
    progress: &mut Progress<B, S::Error>,
    lock: LockHandle,
) -> Result<Recorded, NotRecorded>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    *progress = Progress::Started;
    let options = &shared.options;
    let extensions = request.extensions_mut();
    #[cfg(feature = "sqlx")]
    if options.in_database {
        let (call, token) = (call.clone(), lock.token());
        let options = Arc::clone(options);
        extensions.insert(super::IdempotentRequest::new(
            call,
            fingerprint.clone(),
            token,
            options,
        ));
    }
    extensions.insert(Locked(lock));
    let response = match pin!(service.call(request)).await {
        Ok(response) => response,
        Err(error) => {
            *progress = Progress::Ended {
                output: Err(error),
                recorded: None,
            };
            return Err(NotRecorded::Passed);
        }
    };
    let (head, body) = response.into_parts();
    if !(options.record_if)(&head) {
        let response = Response::from_parts(head, ResponseBody::passing(body));
        *progress = Progress::Ended {
            output: Ok(response),
            recorded: None,
        };
        return Err(NotRecorded::Passed);
    }
    let most = options.max_response_bytes;
    let body = read(body, most)
        .await
        .map_err(|it| unrecordable(&it, most))?;
    let recorded = Recorded::new(fingerprint, &head, &options.headers, body.clone());
    *progress = Progress::Ended {
        output: Ok(Response::from_parts(head, ResponseBody::answer(body))),
        recorded: Some(recorded.clone()),
    };
    Ok(recorded)
}

fn unreadable(not_read: &NotRead, most: usize) -> Problem {
    let problem = Problem::new(ProblemKind::UnreadableBody);
    match not_read {
        NotRead::TooLong => problem.with_detail(format!(
            "the body of a request with an idempotency key has at most {most} bytes"
        )),
        NotRead::Trailers => problem
            .with_status(StatusCode::BAD_REQUEST)
            .with_detail("a request with an idempotency key cannot have trailers"),
        NotRead::Failed => problem
            .with_status(StatusCode::BAD_REQUEST)
            .with_detail("the body ended with an error"),
    }
}

/// Returns the problem for a response that cannot be recorded.
pub(super) fn unrecordable(not_read: &NotRead, most: usize) -> Problem {
    let why = match not_read {
        NotRead::TooLong => format!(
            "the response has more than {most} bytes: raise `max_response_bytes`, or respond with a link"
        ),
        NotRead::Trailers => "the response has trailers: remove them, or the layer".to_owned(),
        NotRead::Failed => "the body of the response ended with an error".to_owned(),
    };
    Problem::new(ProblemKind::NotRecorded).with_detail(why)
}
