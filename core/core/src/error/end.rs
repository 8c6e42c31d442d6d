//! How a lease ended.

use std::fmt;

use crate::{FencingToken, Key};

/// How a lease ended: see [`LockGuard::ended`](crate::LockGuard::ended).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The key of the lock.
    pub key: Key,
    /// The fencing token under which the lock was held; `None` for permits.
    pub token: Option<FencingToken>,
    /// The reason for the end of the lease.
    pub reason: EndReason,
}

/// A lock was lost: its lease ended involuntarily, or another task of the holder ended the lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lock on `{key}`{} was lost: {reason}", under(*token))]
#[non_exhaustive]
pub struct Lost {
    /// The key of the lock.
    pub key: Key,
    /// The fencing token under which the lock was held; `None` for permits.
    pub token: Option<FencingToken>,
    /// The reason for the end of the lease.
    pub reason: EndReason,
}

impl Ended {
    pub(crate) const fn new(key: Key, token: Option<FencingToken>, reason: EndReason) -> Self {
        Self { key, token, reason }
    }
}

impl Lost {
    /// Describes a loss that other code than the manager has found, for example a check in the store of the backend.
    #[must_use]
    pub const fn new(key: Key, token: Option<FencingToken>, reason: EndReason) -> Self {
        Self { key, token, reason }
    }
}

impl From<Ended> for Lost {
    fn from(Ended { key, token, reason }: Ended) -> Self {
        Self { key, token, reason }
    }
}

fn under(token: Option<FencingToken>) -> String {
    token.map_or_else(String::new, |token| format!(" (token {token})"))
}

/// A lock was lost while a body ran under it: in [`Lock::run`](crate::Lock::run), or in a function with
/// `#[distributed_lock]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
#[non_exhaustive]
pub struct LostInBody {
    /// Whether the body had completed. A completed body may have run alongside another holder. A body that had not
    /// completed was dropped at its current await point.
    pub completed: bool,
    /// The loss.
    #[source]
    pub lost: Lost,
}

impl LostInBody {
    pub(crate) const fn new(lost: Lost, completed: bool) -> Self {
        Self { completed, lost }
    }

    /// Returns a message with key and reason, because callers often print an error without its source.
    fn message(&self) -> String {
        let Lost { key, reason, .. } = &self.lost;
        if self.completed {
            format!("the body completed, but its lock on `{key}` was lost before the end: {reason}")
        } else {
            format!(
                "the body was dropped before it completed, because its lock on `{key}` was lost: {reason}"
            )
        }
    }
}

/// The reason for the end of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// The lease expired before a renewal was confirmed: the process was paused, the backend could not be reached, or
    /// renewal was off.
    Expired,
    /// The backend reports that the lock is free or has another holder. The lock was forced open or deleted, or the
    /// backend lost its memory.
    Gone,
    /// The lock was held for `max_hold`.
    MaxHold,
    /// The manager was shut down.
    Shutdown,
    /// The guard released the lock, or was dropped. This end is voluntary, and handles report it.
    Released,
    /// The guard downgraded the lock to a shared lock. This end of the exclusive lock is voluntary.
    Downgraded,
    /// The guard handed the lock over. This end is voluntary, and another process may hold the lock now.
    HandedOver,
}

impl EndReason {
    /// Returns whether the holder itself ended the lease.
    #[must_use]
    pub const fn is_voluntary(self) -> bool {
        matches!(self, Self::Released | Self::Downgraded | Self::HandedOver)
    }

    /// Returns the reason's name in traces and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Gone => "gone",
            Self::MaxHold => "max_hold",
            Self::Shutdown => "shutdown",
            Self::Released => "released",
            Self::Downgraded => "downgraded",
            Self::HandedOver => "handed_over",
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its lease expired",
            Self::Gone => "the backend reports that this holder does not hold it",
            Self::MaxHold => "it was held for `max_hold`",
            Self::Shutdown => "the lock manager was shut down",
            Self::Released => "it was released",
            Self::Downgraded => "it was downgraded to a shared lock",
            Self::HandedOver => "it was handed over",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_in_body_error_names_the_lock_the_reason_and_the_completion() {
        let said = |completed| {
            let (key, token) = (
                Key::new("", "k").unwrap(),
                FencingToken::try_from(7).unwrap(),
            );
            LostInBody::new(
                Ended::new(key, Some(token), EndReason::Gone).into(),
                completed,
            )
            .to_string()
        };
        let (key, why) = ("`k`", EndReason::Gone.to_string());
        assert_eq!(
            said(true),
            format!("the body completed, but its lock on {key} was lost before the end: {why}")
        );
        assert_eq!(
            said(false),
            format!(
                "the body was dropped before it completed, because its lock on {key} was lost: {why}"
            )
        );
    }
}
