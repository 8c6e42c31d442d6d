use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::json;

use super::ProblemKind;

/// How long a client is asked to wait while the backend is down.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long a client is asked to wait where somebody else has the lock, or too many wait.
pub const DEFAULT_BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a request was refused, as a problem document of RFC 9457.
///
/// It never tells the lock's key, which may be a secret of the client's or of the server's.
///
/// With the feature `axum` it is a response, so that a handler which locks by itself can use `?`:
///
/// ```
/// # #[cfg(feature = "axum")]
/// # {
/// use axum::extract::{Path, State};
/// use leasehold::LockManager;
/// use leasehold_tower::Problem;
///
/// async fn ship(State(locks): State<LockManager>, Path(id): Path<u64>) -> Result<String, Problem> {
///     let guard = locks.lock(format!("order:{id}")).try_acquire().await?;
///     let Some(guard) = guard else {
///         return Ok("somebody is at it".to_owned());
///     };
///     let shipped = guard.run(async { format!("shipped {id}") }).await?;
///     // It is shipped. A release that is not confirmed goes on in the background, and is no reason to ship again.
///     let _unconfirmed = guard.release().await.err();
///     Ok(shipped)
/// }
/// # let app = axum::Router::new().route("/{id}", axum::routing::post(ship));
/// # let _app: axum::Router = app.with_state(LockManager::in_process());
/// # }
/// ```
///
/// # Examples
///
/// ```
/// use http::{Response, StatusCode};
/// use leasehold_tower::{Problem, ProblemKind};
///
/// let problem = Problem::new(ProblemKind::Contended).with_status(StatusCode::LOCKED);
/// let response = problem.into_http();
/// assert_eq!(response.status(), 423);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    status: StatusCode,
    detail: Option<String>,
    retry_after: Option<Duration>,
}

impl Problem {
    /// A problem with the status of its kind.
    #[must_use]
    pub fn new(kind: ProblemKind) -> Self {
        Self {
            kind,
            status: kind.status(),
            detail: None,
            retry_after: match kind {
                ProblemKind::Unavailable => Some(DEFAULT_RETRY_AFTER),
                ProblemKind::Contended | ProblemKind::TooManyWaiters => {
                    Some(DEFAULT_BUSY_RETRY_AFTER)
                }
                _ => None,
            },
        }
    }

    /// Answers with another status, such as 423 for a contended lock.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Says more to the client. Mind what it may know.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Asks the client to wait for so long, in whole seconds and at least one, or says nothing of it.
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// What went wrong.
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The status that it is answered with.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// What is said about this case.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// How long the client is asked to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The response: `application/problem+json`, and `Retry-After` where waiting helps.
    #[must_use]
    pub fn into_http(self) -> Response<Bytes> {
        let mut document = json!({
            "type": self.kind.uri(),
            "title": self.kind.title(),
            "status": self.status.as_u16(),
        });
        if let Some(detail) = self.detail {
            document["detail"] = detail.into();
        }
        let mut response = Response::new(Bytes::from(document.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let media = HeaderValue::from_static("application/problem+json");
        headers.insert(CONTENT_TYPE, media);
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.title())?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

impl From<Problem> for Response<Bytes> {
    fn from(problem: Problem) -> Self {
        problem.into_http()
    }
}

#[cfg(feature = "axum")]
#[cfg_attr(docsrs, doc(cfg(feature = "axum")))]
impl axum::response::IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        self.into_http().map(axum::body::Body::from)
    }
}
