use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response};

use super::{Problem, ProblemKind};
use leasehold_core::backend::support::event;

type Rejection = Arc<dyn Fn(Problem) -> Response<Bytes> + Send + Sync>;

/// Determines how a layer responds to a refused request.
#[derive(Clone, Default)]
pub(crate) struct Refusal {
    own: Option<Rejection>,
}

/// The protocol of a client, which determines the format of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Http,
    #[cfg(feature = "tonic")]
    Grpc,
}

impl Dialect {
    #[cfg(feature = "tonic")]
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let media = headers.get(http::header::CONTENT_TYPE);
        let grpc = b"application/grpc";
        match media.map(http::HeaderValue::as_bytes) {
            Some(media)
                if media.starts_with(grpc) && !media.starts_with(b"application/grpc-web") =>
            {
                Self::Grpc
            }
            _ => Self::Http,
        }
    }

    #[cfg(not(feature = "tonic"))]
    pub(crate) const fn of(_: &HeaderMap) -> Self {
        Self::Http
    }
}

impl Refusal {
    pub(crate) fn by(
        rejection: impl Fn(Problem) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        Self {
            own: Some(Arc::new(rejection)),
        }
    }

    pub(crate) fn answer(&self, problem: Problem, dialect: Dialect) -> Response<Bytes> {
        emit(&problem);
        match (dialect, &self.own) {
            #[cfg(feature = "tonic")]
            (Dialect::Grpc, _) => tonic::Status::from(problem).into_http(),
            (Dialect::Http, Some(own)) => own(problem),
            (Dialect::Http, None) => problem.into_http(),
        }
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal")
            .field("own", &self.own.is_some())
            .finish()
    }
}

/// Emits the event of a refusal. The name of the event is part of the public API.
fn emit(problem: &Problem) {
    let (kind, status) = (problem.kind(), problem.status().as_u16());
    match kind {
        ProblemKind::Misconfigured
        | ProblemKind::Unavailable
        | ProblemKind::Lost
        | ProblemKind::OutcomeUnknown
        | ProblemKind::Overloaded
        | ProblemKind::NotRecorded => event!(
            warn,
            "leasehold_tower.refused",
            { problem = kind.uri(), status, detail = problem.detail() },
            "a request was refused"
        ),
        _ => event!(
            debug,
            "leasehold_tower.refused",
            { problem = kind.uri(), status, detail = problem.detail() },
            "a request was refused"
        ),
    }
}
