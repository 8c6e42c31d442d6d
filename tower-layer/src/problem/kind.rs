use http::StatusCode;

/// What went wrong, as the problem's `type` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Another request holds the lock, or is at the resource, and did so for as long as this one may wait.
    Contended,
    /// The lock is held, and as many requests wait in this layer as may.
    TooManyWaiters,
    /// The backend of the locks, or the store of the fences, failed or was shut down.
    Unavailable,
    /// The lock was lost while the request was handled, which may have been done in part.
    Lost,
    /// What the lock protects was begun, and something failed after it: the work may have been done, and it is not known
    /// whether the lock is free.
    OutcomeUnknown,
    /// The request does not say what is to be locked.
    MissingKey,
    /// What the request names cannot be locked: it is no lock's name, no handover ticket, or one that is spent.
    InvalidKey,
    /// What the request wants to read or write is not there.
    NotFound,
    /// The server's own mistake: a route without the parameter, a layer in the wrong place, an option that
    /// cannot work.
    Misconfigured,
    /// A newer holder of the lock has been at the resource.
    Stale,
    /// The request carries no fencing token.
    MissingToken,
    /// What the request carries is no fencing token.
    InvalidToken,
}

impl ProblemKind {
    /// The problem's `type`, which leads to its description.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Contended => "https://docs.rs/leasehold-tower#contended",
            Self::TooManyWaiters => "https://docs.rs/leasehold-tower#too-many-waiters",
            Self::Unavailable => "https://docs.rs/leasehold-tower#unavailable",
            Self::Lost => "https://docs.rs/leasehold-tower#lost",
            Self::OutcomeUnknown => "https://docs.rs/leasehold-tower#outcome-unknown",
            Self::MissingKey => "https://docs.rs/leasehold-tower#missing-key",
            Self::InvalidKey => "https://docs.rs/leasehold-tower#invalid-key",
            Self::NotFound => "https://docs.rs/leasehold-tower#not-found",
            Self::Misconfigured => "https://docs.rs/leasehold-tower#misconfigured",
            Self::Stale => "https://docs.rs/leasehold-tower#stale",
            Self::MissingToken => "https://docs.rs/leasehold-tower#missing-token",
            Self::InvalidToken => "https://docs.rs/leasehold-tower#invalid-token",
        }
    }

    /// The problem's `title`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Contended => "Locked by another request",
            Self::TooManyWaiters => "Too many requests wait for locks",
            Self::Unavailable => "Locks are not available",
            Self::Lost => "The lock was lost",
            Self::OutcomeUnknown => "The work may have been done",
            Self::MissingKey => "The request does not say what to lock",
            Self::InvalidKey => "The request names what cannot be locked",
            Self::NotFound => "There is no such resource",
            Self::Misconfigured => "The lock of this route is set up wrongly",
            Self::Stale => "A newer holder of the lock has been here",
            Self::MissingToken => "The request carries no fencing token",
            Self::InvalidToken => "The request carries a bad fencing token",
        }
    }

    /// The status that it is answered with, unless told otherwise.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Contended | Self::TooManyWaiters => StatusCode::CONFLICT,
            Self::Unavailable | Self::Lost => StatusCode::SERVICE_UNAVAILABLE,
            Self::MissingKey | Self::InvalidKey | Self::InvalidToken => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Misconfigured | Self::OutcomeUnknown => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Stale => StatusCode::PRECONDITION_FAILED,
            Self::MissingToken => StatusCode::PRECONDITION_REQUIRED,
        }
    }
}
