use tonic::{Code, Status};

use super::{Problem, ProblemKind};

/// `ABORTED` for a lock that is contended or was lost, `UNAVAILABLE` for a backend that is down. What may have been done
/// is `UNKNOWN`, which clients do not send again by themselves.
#[cfg_attr(docsrs, doc(cfg(feature = "tonic")))]
impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let code = match problem.kind() {
            ProblemKind::Contended | ProblemKind::Lost => Code::Aborted,
            ProblemKind::TooManyWaiters => Code::ResourceExhausted,
            ProblemKind::Unavailable => Code::Unavailable,
            ProblemKind::MissingKey
            | ProblemKind::InvalidKey
            | ProblemKind::MissingToken
            | ProblemKind::InvalidToken => Code::InvalidArgument,
            ProblemKind::OutcomeUnknown => Code::Unknown,
            ProblemKind::NotFound => Code::NotFound,
            ProblemKind::Misconfigured => Code::Internal,
            ProblemKind::Stale => Code::FailedPrecondition,
        };
        Self::new(code, problem.to_string())
    }
}
