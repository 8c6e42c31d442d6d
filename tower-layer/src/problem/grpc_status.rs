use tonic::{Code, Status};

use super::{Problem, ProblemKind};

/// Converts a problem into a gRPC status: `ABORTED` if the lock is contended or was lost, and `UNAVAILABLE` if the
/// backend is down. If the work may be done, the status is `UNKNOWN`, because clients do not retry it automatically.
#[cfg_attr(docsrs, doc(cfg(feature = "tonic")))]
impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        let code = match problem.kind() {
            ProblemKind::Contended | ProblemKind::Lost => Code::Aborted,
            ProblemKind::TooManyWaiters | ProblemKind::Overloaded => Code::ResourceExhausted,
            ProblemKind::Unavailable => Code::Unavailable,
            ProblemKind::MissingKey
            | ProblemKind::InvalidKey
            | ProblemKind::MissingToken
            | ProblemKind::InvalidToken
            | ProblemKind::KeyReused
            | ProblemKind::UnreadableBody => Code::InvalidArgument,
            ProblemKind::OutcomeUnknown | ProblemKind::NotRecorded => Code::Unknown,
            ProblemKind::NotFound => Code::NotFound,
            ProblemKind::Misconfigured => Code::Internal,
            ProblemKind::Stale => Code::FailedPrecondition,
        };
        Self::new(code, problem.to_string())
    }
}
