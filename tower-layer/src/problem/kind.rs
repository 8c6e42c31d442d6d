use http::StatusCode;

/// The kind of a [`Problem`](crate::Problem). It determines the `type` of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Another request held the lock or used the resource for the whole time that this request may wait.
    Contended,
    /// The lock is held, and the maximum number of requests already wait in this layer.
    TooManyWaiters,
    /// The lock backend or the fence store failed, or the manager was shut down.
    Unavailable,
    /// The lock was lost while the handler ran. The work may be partly done.
    Lost,
    /// An operation failed while the lock was held. The work may be done, and it is not known whether the lock is free.
    OutcomeUnknown,
    /// The request does not contain the key.
    MissingKey,
    /// The key is invalid, or the handover ticket is invalid or already used.
    InvalidKey,
    /// The resource that the request reads or writes does not exist.
    NotFound,
    /// A mistake in the server's code: a route without the parameter, a layer in the wrong position, or an invalid
    /// option.
    Misconfigured,
    /// A newer holder of the lock has used the resource.
    Stale,
    /// The request does not have a fencing token.
    MissingToken,
    /// The fencing token of the request is invalid.
    InvalidToken,
    /// The idempotency key was already used for another request.
    KeyReused,
    /// The body of a request with an idempotency key is too long, or ended with an error.
    UnreadableBody,
    /// The bodies of concurrent requests take all bytes that the layer may buffer.
    Overloaded,
    /// The response to a request with an idempotency key cannot be recorded.
    NotRecorded,
}

impl ProblemKind {
    /// Returns the `type` of the problem: the URL of its description.
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
            Self::KeyReused => "https://docs.rs/leasehold-tower#key-reused",
            Self::UnreadableBody => "https://docs.rs/leasehold-tower#unreadable-body",
            Self::Overloaded => "https://docs.rs/leasehold-tower#overloaded",
            Self::NotRecorded => "https://docs.rs/leasehold-tower#not-recorded",
        }
    }

    /// Returns the `title` of the problem.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Contended => "Locked by another request",
            Self::TooManyWaiters => "Too many requests are waiting for locks",
            Self::Unavailable => "Locks are not available",
            Self::Lost => "The lock was lost",
            Self::OutcomeUnknown => "The work may be done",
            Self::MissingKey => "The request has no key",
            Self::InvalidKey => "The key of the request is invalid",
            Self::NotFound => "The resource does not exist",
            Self::Misconfigured => "The lock of this route is misconfigured",
            Self::Stale => "A newer holder of the lock has used this resource",
            Self::MissingToken => "The request has no fencing token",
            Self::InvalidToken => "The fencing token of the request is invalid",
            Self::KeyReused => "The key was already used for another request",
            Self::UnreadableBody => "The body of the request cannot be read",
            Self::Overloaded => "The bodies of other requests take all buffer memory",
            Self::NotRecorded => "The response cannot be recorded",
        }
    }

    /// Returns the default status of the response.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Contended | Self::TooManyWaiters => StatusCode::CONFLICT,
            Self::Unavailable | Self::Lost | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::MissingKey | Self::InvalidKey | Self::InvalidToken => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Misconfigured | Self::OutcomeUnknown | Self::NotRecorded => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Stale => StatusCode::PRECONDITION_FAILED,
            Self::MissingToken => StatusCode::PRECONDITION_REQUIRED,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UnreadableBody => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }
}
