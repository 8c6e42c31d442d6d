//! How a lease ended.

use std::fmt;

use crate::{FencingToken, Key};

/// A lock is no longer held by its guard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lock on `{key}`{} was lost: {reason}", under(*token))]
#[non_exhaustive]
pub struct Lost {
    /// What was locked.
    pub key: Key,
    /// The fencing token under which it was held; `None` if it was permits, which have none.
    pub token: Option<FencingToken>,
    /// Why it is no longer held.
    pub reason: LossReason,
}

impl Lost {
    pub(crate) const fn new(key: Key, token: Option<FencingToken>, reason: LossReason) -> Self {
        Self { key, token, reason }
    }
}

fn under(token: Option<FencingToken>) -> String {
    token.map_or_else(String::new, |token| format!(" (token {token})"))
}

/// A lock was lost while a body ran that acquired it: by [`Lock::run`](crate::Lock::run), or a function with
/// `#[distributed_lock]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
#[non_exhaustive]
pub struct LostInBody {
    /// Whether the body had completed: then its work is done, and may have been done beside another
    /// holder. If not, it was dropped where it stood.
    pub completed: bool,
    /// The loss.
    #[source]
    pub lost: Lost,
}

impl LostInBody {
    pub(crate) const fn new(lost: Lost, completed: bool) -> Self {
        Self { completed, lost }
    }

    /// With key and reason: many print an error without its source.
    fn message(&self) -> String {
        let Lost { key, reason, .. } = &self.lost;
        if self.completed {
            format!("the body completed, but its lock on `{key}` was not held to the end: {reason}")
        } else {
            format!(
                "the body was stopped before it had completed, as its lock on `{key}` was lost: {reason}"
            )
        }
    }
}

/// Why a lock is no longer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// The lease ran out before a renewal was confirmed: the process was paused, the backend could
    /// not be reached, or renewal was off.
    Expired,
    /// The backend says that somebody else holds the lock, or nobody: it was forced open, its entry
    /// was deleted, or the backend lost its memory.
    Gone,
    /// It was held for as long as `max_hold` allows.
    MaxHold,
    /// The manager was shut down.
    Shutdown,
    /// Its guard released it, or was dropped. No accident: handles outlive guards.
    Released,
    /// Its guard made it a lock that is shared. No accident: whoever held it alone does not any more.
    Downgraded,
    /// Its guard handed it over. No accident: somebody else may hold it from here on.
    HandedOver,
}

impl LossReason {
    /// Whether the holder itself ended it.
    #[must_use]
    pub const fn is_wanted(self) -> bool {
        matches!(self, Self::Released | Self::Downgraded | Self::HandedOver)
    }

    /// The reason as traces and metrics name it.
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

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "its lease ran out",
            Self::Gone => "the backend says that it is not ours any more",
            Self::MaxHold => "it was held for as long as `max_hold` allows",
            Self::Shutdown => "the lock manager was shut down",
            Self::Released => "it was released",
            Self::Downgraded => "it is shared now",
            Self::HandedOver => "it was handed over",
        })
    }
}

/// How a release ended.
///
/// # Examples
///
/// Who must know that nobody else was at it, down to the last step, looks at it:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, ReleaseOutcome};
///
/// let guard = LockManager::in_process().lock("order:42").acquire().await?;
/// match guard.release().await? {
///     ReleaseOutcome::Released => {}
///     ReleaseOutcome::AlreadyLost(reason) => eprintln!("check order 42: {reason}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseOutcome {
    /// The lock was held to the end, and is free for the next.
    Released,
    /// The lock was lost before: what was done under it may have been done beside another holder.
    AlreadyLost(LossReason),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whether_the_function_was_stopped_and_which_lock_was_lost_and_why() {
        let said = |completed| {
            let (key, token) = (
                Key::new("", "k").unwrap(),
                FencingToken::try_from(7).unwrap(),
            );
            LostInBody::new(Lost::new(key, Some(token), LossReason::Gone), completed).to_string()
        };
        let (key, why) = ("`k`", LossReason::Gone.to_string());
        assert_eq!(
            said(true),
            format!("the body completed, but its lock on {key} was not held to the end: {why}")
        );
        assert_eq!(
            said(false),
            format!(
                "the body was stopped before it had completed, as its lock on {key} was lost: {why}"
            )
        );
    }
}
