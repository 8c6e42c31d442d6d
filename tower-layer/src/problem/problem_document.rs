use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::json;

use super::ProblemKind;

/// The default `Retry-After` if the backend is down.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(5);

/// The default `Retry-After` if the lock is busy or too many requests wait.
pub const DEFAULT_BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The reason for the refusal of a request, as a problem document of RFC 9457.
///
/// The document never contains the key of the lock, because the key may be secret.
///
/// With the feature `axum` the document is a response, so `?` works in a handler with its own locks:
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
///         return Ok("another request is shipping it".to_owned());
///     };
///     let shipped = guard.run(async |_| Ok::<_, Problem>(format!("shipped {id}"))).await?;
///     // Ignore an unconfirmed release, because it continues in the background.
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
    /// Creates a problem with the status of its kind.
    #[must_use]
    pub fn new(kind: ProblemKind) -> Self {
        Self {
            kind,
            status: kind.status(),
            detail: None,
            retry_after: match kind {
                ProblemKind::Unavailable => Some(DEFAULT_RETRY_AFTER),
                ProblemKind::Contended | ProblemKind::TooManyWaiters | ProblemKind::Overloaded => {
                    Some(DEFAULT_BUSY_RETRY_AFTER)
                }
                _ => None,
            },
        }
    }

    /// Sets another status, such as 423 for a contended lock.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets a description for the client. The description must not contain secrets.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Sets the header `Retry-After`. Its value is the duration rounded down to whole seconds, but at least 1. With
    /// `None` the response does not have this header.
    #[must_use]
    pub fn with_retry_after(mut self, retry_after: Option<Duration>) -> Self {
        self.retry_after = retry_after;
        self
    }

    /// Returns the kind of the problem.
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns the status of the response.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the description.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Returns the time that the client should wait before it retries.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Converts the problem into a response of type `application/problem+json`, with `Retry-After` if it is set.
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
