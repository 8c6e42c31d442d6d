//! How long a round waits for the nodes' replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::runtime;

/// How long an answer is waited for.
#[derive(Debug, Clone)]
pub(super) enum AnswerLimit {
    /// From the call on.
    Own(Duration),
    /// As long as for all that were asked with it, whose timer is one.
    Shared(Arc<SharedDeadline>),
}

impl AnswerLimit {
    pub(super) fn length(&self) -> Duration {
        match self {
            Self::Own(length) => *length,
            Self::Shared(deadline) => deadline.length,
        }
    }
}

impl From<Duration> for AnswerLimit {
    fn from(length: Duration) -> Self {
        Self::Own(length)
    }
}

/// The end of the wait for several answers. Who asked them all keeps the timer.
#[derive(Debug)]
pub(super) struct SharedDeadline {
    length: Duration,
    /// Whether there is a runtime for the timer.
    is_kept: bool,
    has_passed: AtomicBool,
}

impl SharedDeadline {
    pub(super) fn of(length: Duration) -> Arc<Self> {
        Arc::new(Self {
            length,
            is_kept: runtime::in_runtime(),
            has_passed: AtomicBool::new(false),
        })
    }

    pub(super) fn length(&self) -> Duration {
        self.length
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(super) fn pass(&self) {
        self.has_passed.store(true, Ordering::Release);
    }

    pub(super) fn has_passed(&self) -> bool {
        self.has_passed.load(Ordering::Acquire)
    }
}
