//! The operations that a backend can fail to carry out.

use std::fmt;

use super::Applied;

/// An operation on a lock that needs the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// An acquire.
    Acquire,
    /// A manual renewal.
    Renew,
    /// A downgrade from writer to reader.
    Downgrade,
    /// A handover.
    HandOver,
    /// The recording of a result.
    Record,
    /// The deletion of a recorded result.
    Forget,
    /// An inspection.
    Inspect,
    /// A forced release.
    ForceRelease,
    /// A list of the locks that are held.
    List,
}

impl Operation {
    /// Returns the state after a failure, or the next step.
    pub(crate) const fn after_failure(self, applied: Applied) -> &'static str {
        match (self, applied) {
            (Self::Acquire, Applied::Unknown) => "outcome unknown; cleaning up in the background",
            (Self::Acquire, _) => "the lock was not acquired",
            (Self::Renew, _) => "the guard is valid until its deadline; try again",
            (Self::Downgrade | Self::HandOver, _) => "the lock is being released in the background",
            (Self::Record, Applied::Unknown) => {
                "the result may be recorded; otherwise the next caller runs the body again"
            }
            (Self::Record, _) => "no result is recorded; the next caller runs the body again",
            (Self::Forget, Applied::Unknown) => "outcome unknown; try again",
            (Self::ForceRelease, Applied::Unknown) => "outcome unknown; inspect the lock",
            (Self::Inspect | Self::ForceRelease | Self::Forget | Self::List, _) => {
                "nothing was changed"
            }
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acquire => "acquiring",
            Self::Renew => "renewing",
            Self::Downgrade => "downgrading",
            Self::HandOver => "handing over",
            Self::Record => "recording the result of",
            Self::Forget => "forgetting the result of",
            Self::Inspect => "inspecting",
            Self::ForceRelease => "releasing by force",
            Self::List => "listing",
        })
    }
}
