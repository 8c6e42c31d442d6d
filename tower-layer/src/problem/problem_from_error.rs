//! Converts errors into problems. A problem does not contain the keys and servers that an error names.

use leasehold_core::{
    AdmitError, Error, InvalidKey, InvalidTicket, InvalidToken, LockSetReleaseError, Lost,
    NoCurrentLockError, Operation, Stale, UnconfirmedRelease,
};

#[cfg(feature = "idempotency")]
use leasehold_core::OnceError;

use super::{Problem, ProblemKind};

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::TimedOut { .. } => Self::new(ProblemKind::Contended),
            Error::AlreadyHeld { .. } => misconfigured(
                "this request already holds the lock; acquire it in the layer or in the handler, not in both",
            ),
            Error::Upgrade { .. } => misconfigured(
                "this request already holds the lock as a reader; acquire it only once, as a writer",
            ),
            Error::OtherKind { .. } => misconfigured(
                "the key is used both for a lock and for a semaphore; use different keys",
            ),
            Error::Unsupported {
                operation: Operation::Downgrade | Operation::HandOver,
                ..
            } => misconfigured(
                "the backend does not support this conversion of the lock; the work may be partly done",
            ),
            Error::Unsupported { what, .. } => {
                misconfigured(format!("the backend does not support {what}"))
            }
            Error::HandoverSpent { .. } => {
                let detail = "the handover was already accepted or has expired";
                Self::new(ProblemKind::InvalidKey).with_detail(detail)
            }
            Error::Backend {
                operation: Operation::Renew,
                ..
            } => outcome_unknown("the lease was not renewed"),
            Error::Backend {
                operation: Operation::Record,
                ..
            } => outcome_unknown("the result was not recorded"),
            Error::Backend {
                operation: Operation::Downgrade | Operation::HandOver,
                ..
            } => outcome_unknown("the lock was not converted or handed over, and is released"),
            Error::Backend { source, .. } => unavailable(source.is_temporary()),
            Error::Lost(lost) => lost.into(),
            Error::LostInBody(lost) => lost.lost.into(),
            Error::Unconfirmed(error) => error.into(),
            Error::LockSetRelease(error) => error.into(),
            Error::Ticket(error) => error.into(),
            Error::Key(error) => error.into(),
            Error::Token(error) => error.into(),
            Error::Stale(stale) => stale.into(),
            Error::Admit(error) => error.into(),
            Error::Option(error) => misconfigured(error.to_string()),
            Error::NoManager | Error::NoRuntime => misconfigured(error.to_string()),
            Error::NoCurrentLock(NoCurrentLockError::OnlyWithoutFence { .. }) => misconfigured(
                "this route writes data, and its lock guards only the request: add a layer that locks the data",
            ),
            Error::NoCurrentLock(_) => {
                misconfigured("this route needs a lock that the request does not hold")
            }
            Error::Closed { .. } | Error::Connect(_) => unavailable(true),
            #[cfg(feature = "idempotency")]
            Error::Once(error) => error.into(),
            // After a shutdown, or for an unknown variant, the handler may have done its work. So the client must not
            // retry.
            _ => outcome_unknown("it is not known whether the lock is still held"),
        }
    }
}

#[cfg(feature = "idempotency")]
impl From<OnceError> for Problem {
    fn from(error: OnceError) -> Self {
        match error {
            OnceError::Failed { .. } => unavailable(true),
            OnceError::Decode { .. } => misconfigured("the recorded result has another type"),
            // The result is too large, or cannot be encoded.
            _ => Self::new(ProblemKind::NotRecorded)
                .with_detail("the result cannot be recorded; the work may be done"),
        }
    }
}

impl From<Lost> for Problem {
    fn from(lost: Lost) -> Self {
        let detail = format!("{}; the work may be partly done", lost.reason);
        Self::new(ProblemKind::Lost).with_detail(detail)
    }
}

impl From<InvalidKey> for Problem {
    fn from(error: InvalidKey) -> Self {
        Self::new(ProblemKind::InvalidKey).with_detail(error.problem_in_key().to_string())
    }
}

impl From<UnconfirmedRelease> for Problem {
    fn from(_: UnconfirmedRelease) -> Self {
        not_released()
    }
}

impl From<LockSetReleaseError> for Problem {
    fn from(error: LockSetReleaseError) -> Self {
        error
            .lost
            .into_iter()
            .next()
            .map_or_else(not_released, Self::from)
    }
}

impl From<InvalidTicket> for Problem {
    fn from(_: InvalidTicket) -> Self {
        let detail = "the handover ticket is invalid";
        Self::new(ProblemKind::InvalidKey).with_detail(detail)
    }
}

impl From<InvalidToken> for Problem {
    fn from(_: InvalidToken) -> Self {
        let detail = format!("a fencing token is a whole number from 1 to {}", i64::MAX);
        Self::new(ProblemKind::InvalidToken).with_detail(detail)
    }
}

impl From<Stale> for Problem {
    fn from(_: Stale) -> Self {
        // The document does not contain the newer token, because a client that lost the lock could use it to write.
        Self::new(ProblemKind::Stale)
    }
}

impl From<AdmitError> for Problem {
    fn from(error: AdmitError) -> Self {
        match error {
            AdmitError::Stale(stale) => stale.into(),
            _ => unavailable(true),
        }
    }
}

pub(super) fn misconfigured(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Misconfigured).with_detail(detail)
}

/// Returns the problem for an error while the lock was held. A duplicate request could do the work twice.
pub(crate) fn outcome_unknown(what: &str) -> Problem {
    let detail = format!("{what}; the work may be done");
    Problem::new(ProblemKind::OutcomeUnknown).with_detail(detail)
}

fn not_released() -> Problem {
    outcome_unknown("the release is not confirmed yet")
}

fn unavailable(temporary: bool) -> Problem {
    let problem = Problem::new(ProblemKind::Unavailable);
    if temporary {
        problem
    } else {
        problem.with_retry_after(None)
    }
}
