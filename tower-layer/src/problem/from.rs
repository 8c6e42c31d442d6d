//! Which problem an error is. What an error says of keys and servers stays out of it.

use leasehold::{
    AcquireError, AdmitError, ConvertError, Error, InvalidKey, InvalidTicket, InvalidToken,
    LockSetReleaseError, Lost, ReleaseError, RenewError, Stale,
};

use super::{Problem, ProblemKind};

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Acquire(error) => error.into(),
            Error::Lost(lost) => lost.into(),
            Error::LostInBody(lost) => lost.lost.into(),
            Error::Release(error) => error.into(),
            Error::ReleaseAll(error) => error.into(),
            Error::Convert(error) => error.into(),
            Error::Ticket(error) => error.into(),
            Error::Renew(error) => error.into(),
            Error::Key(error) => error.into(),
            Error::Token(error) => error.into(),
            Error::Stale(stale) => stale.into(),
            Error::Admit(error) => error.into(),
            Error::Backend(error) => unavailable(error.is_temporary()),
            Error::Option(error) => misconfigured(error.to_string()),
            Error::NoManager(error) => misconfigured(error.to_string()),
            Error::Connect(_) => unavailable(true),
            // A shutdown, and what is not known yet: nobody is told to send again what may be done.
            _ => outcome_unknown("it is not known what became of the lock"),
        }
    }
}

impl From<AcquireError> for Problem {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::TimedOut { .. } => Self::new(ProblemKind::Contended),
            AcquireError::AlreadyHeld { .. } => misconfigured(
                "this request holds the same lock already; lock in one place, a layer or the handler",
            ),
            AcquireError::Upgrade { .. } => misconfigured(
                "this request reads under the same lock already; lock in one place, and to write from the start",
            ),
            AcquireError::OtherKind { .. } => {
                misconfigured("the same key is used for a lock and for permits")
            }
            AcquireError::Unsupported { .. } => {
                misconfigured("the backend does not have this kind of lock")
            }
            AcquireError::HandoverSpent { .. } => {
                let detail = "the handover is spent or has run out";
                Self::new(ProblemKind::InvalidKey).with_detail(detail)
            }
            AcquireError::Key(error) => error.into(),
            AcquireError::Option(error) => misconfigured(error.to_string()),
            AcquireError::NoRuntime => misconfigured(AcquireError::NoRuntime.to_string()),
            AcquireError::Backend { source, .. } => unavailable(source.is_temporary()),
            // Shut down, and what is not known yet.
            _ => unavailable(true),
        }
    }
}

impl From<Lost> for Problem {
    fn from(lost: Lost) -> Self {
        let detail = format!("{}; the work may have been done in part", lost.reason);
        Self::new(ProblemKind::Lost).with_detail(detail)
    }
}

impl From<InvalidKey> for Problem {
    fn from(error: InvalidKey) -> Self {
        Self::new(ProblemKind::InvalidKey).with_detail(error.problem_in_key().to_string())
    }
}

impl From<RenewError> for Problem {
    fn from(error: RenewError) -> Self {
        match error {
            RenewError::Lost(lost) => lost.into(),
            _ => outcome_unknown("the lease was not renewed"),
        }
    }
}

impl From<ReleaseError> for Problem {
    fn from(_: ReleaseError) -> Self {
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

impl From<ConvertError> for Problem {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Lost(lost) => lost.into(),
            ConvertError::Unsupported { .. } => misconfigured(
                "the backend does not have what the lock was to become; the work may have been done in part",
            ),
            _ => outcome_unknown("the lock was not made another, and is released"),
        }
    }
}

impl From<InvalidTicket> for Problem {
    fn from(_: InvalidTicket) -> Self {
        let detail = "that is no handover ticket";
        Self::new(ProblemKind::InvalidKey).with_detail(detail)
    }
}

impl From<InvalidToken> for Problem {
    fn from(_: InvalidToken) -> Self {
        let detail = format!("tokens are whole numbers from 1 to {}", i64::MAX);
        Self::new(ProblemKind::InvalidToken).with_detail(detail)
    }
}

impl From<Stale> for Problem {
    fn from(_: Stale) -> Self {
        // Not which token has been there: whoever lost the lock could write under it.
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

/// What failed when the lock was had already. Whoever sends that again may have it done twice.
pub(super) fn outcome_unknown(what: &str) -> Problem {
    let detail = format!("{what}; the work may have been done");
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
