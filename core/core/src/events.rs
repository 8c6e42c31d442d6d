//! Emits events to `tracing`, and with the feature `metrics` to the `metrics` crate. The names are public API: the
//! crate's documentation lists them, and tests check them.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::Duration;

use tracing::{Span, field};

use super::backend::{Applied, Attempt, BackendError, Claim};
use super::options::AcquireOptions;
use super::{EndReason, Error, Key, metrics};
use crate::__event as event;
use crate::clock::LeaseInstant;

/// Catches panics of a subscriber or a recorder. The panic hook has already reported the panic, and reporting it again
/// might panic again.
fn tell(event: impl FnOnce()) {
    let _panicked = catch_unwind(AssertUnwindSafe(event));
}

/// One acquire, as its caller sees it. If this value is dropped before the acquire has finished, the acquire was
/// cancelled.
#[derive(Debug)]
pub(crate) struct Acquisition {
    span: Span,
    name: Option<&'static str>,
    started: LeaseInstant,
    finished: bool,
}

impl Acquisition {
    pub(crate) fn start(
        key: &Key,
        label: &'static str,
        options: &AcquireOptions,
        started: LeaseInstant,
    ) -> Self {
        tell(|| metrics::acquiring(1.0, options.name));
        Self {
            span: tracing::debug_span!(
                "leasehold.acquire",
                lock.key = key.name(),
                lock.name = options.name,
                lock.label = label,
                lock.ttl = ?options.lease_ttl(),
                lock.owner = field::Empty,
                lock.token = field::Empty,
                lock.outcome = field::Empty,
            ),
            name: options.name,
            started,
            finished: false,
        }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    pub(crate) fn finish(mut self, claim: Option<&Claim>, outcome: &'static str) {
        if let Some(claim) = claim {
            tell(|| {
                self.span.record("lock.owner", field::display(claim.owner));
                self.span.record("lock.token", claim.token.get());
            });
        }
        self.close(outcome);
    }

    fn close(&mut self, outcome: &'static str) {
        self.finished = true;
        tell(|| {
            self.span.record("lock.outcome", outcome);
        });
        tell(|| {
            metrics::acquiring(-1.0, self.name);
            metrics::acquire(outcome, self.name, self.started);
        });
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        if !self.finished {
            self.close("cancelled");
        }
    }
}

pub(crate) fn manager_made() {
    tell(metrics::describe);
}

pub(crate) fn held(claim: &Claim) {
    tell(|| metrics::held(1.0, claim.name));
}

pub(crate) fn attempt_failed(attempt: &Attempt, error: &BackendError) {
    tell(|| metrics::failure("attempt"));
    tell(|| {
        event!(
            warn,
            "leasehold.attempt_failed",
            {
                lock.key = attempt.key.name(),
                lock.owner = %attempt.owner,
                lock.label = attempt.owner.label(),
                applied = applied(error),
                error = error as &dyn std::error::Error,
            },
            "an attempt to acquire failed"
        );
    });
}

pub(crate) fn wait_failed(attempt: &Attempt, error: &BackendError) {
    tell(|| metrics::failure("wait"));
    tell(|| {
        event!(
            warn,
            "leasehold.wait_failed",
            {
                lock.key = attempt.key.name(),
                lock.owner = %attempt.owner,
                lock.label = attempt.owner.label(),
                error = error as &dyn std::error::Error,
            },
            "notifications are not available; polling instead"
        );
    });
}

pub(crate) fn held_by_same_manager(attempt: &Attempt, acquired_at: &Location<'_>) {
    tell(|| {
        event!(
            info,
            "leasehold.held_by_same_manager",
            {
                lock.key = attempt.key.name(),
                lock.owner = %attempt.owner,
                lock.label = attempt.owner.label(),
                acquired_at = %format_args!("{}:{}", acquired_at.file(), acquired_at.line()),
            },
            "an acquire waits for a lock that this manager holds"
        );
    });
}

pub(crate) fn cleaned_up(attempt: &Attempt) {
    tell(|| {
        event!(
            trace,
            "leasehold.cleaned_up",
            {
                lock.key = attempt.key.name(),
                lock.owner = %attempt.owner,
                lock.label = attempt.owner.label(),
            },
            "an abandoned attempt was cleaned up"
        );
    });
}

pub(crate) fn cleanup_failed(attempt: &Attempt, error: &BackendError) {
    tell(|| metrics::failure("cleanup"));
    tell(|| {
        event!(
            warn,
            "leasehold.cleanup_failed",
            {
                lock.key = attempt.key.name(),
                lock.owner = %attempt.owner,
                lock.label = attempt.owner.label(),
                error = error as &dyn std::error::Error,
            },
            "an abandoned attempt is not cleaned up yet"
        );
    });
}

pub(crate) fn renewed(claim: &Claim) {
    tell(|| metrics::renewal("extended"));
    tell(|| {
        event!(
            trace,
            "leasehold.renewed",
            { lock.key = claim.key.name(), lock.token = claim.token.get() },
            "a lease was renewed"
        );
    });
}

pub(crate) fn renewal_failed(claim: &Claim, error: &BackendError) {
    tell(|| metrics::renewal("failed"));
    tell(|| {
        event!(
            warn,
            "leasehold.renewal_failed",
            {
                lock.key = claim.key.name(),
                lock.token = claim.token.get(),
                error = error as &dyn std::error::Error,
            },
            "a renewal failed; it is retried until the lease ends"
        );
    });
}

pub(crate) fn ended(claim: &Claim, reason: EndReason, held_for: Duration) {
    tell(|| metrics::held(-1.0, claim.name));
    // Count a release later, because only its reply shows whether the lock had been lost before.
    if reason != EndReason::Released {
        ending(claim.name, reason, held_for);
    }
    if reason.is_voluntary() {
        given_up(claim, held_for);
    } else {
        lost(claim, reason, held_for);
    }
}

/// Counts the end of a lease.
pub(crate) fn ending(name: Option<&'static str>, reason: EndReason, held_for: Duration) {
    tell(|| metrics::ended(reason.as_str(), name, held_for));
}

fn given_up(claim: &Claim, held_for: Duration) {
    tell(|| {
        event!(
            debug,
            "leasehold.given_up",
            { lock.key = claim.key.name(), lock.token = claim.token.get(), held_for = ?held_for },
            "a holder releases its lock"
        );
    });
}

pub(crate) fn lost(claim: &Claim, reason: EndReason, held_for: Duration) {
    tell(|| {
        event!(
            warn,
            "leasehold.lost",
            {
                lock.key = claim.key.name(),
                lock.name = claim.name,
                lock.owner = %claim.owner,
                lock.label = claim.owner.label(),
                lock.token = claim.token.get(),
                reason = reason.as_str(),
                held_for = ?held_for,
            },
            "a lock was lost"
        );
    });
}

pub(crate) fn released(claim: &Claim, was_lost: bool) {
    tell(|| {
        let outcome = match was_lost {
            false => "released",
            true => "already_lost",
        };
        metrics::release(outcome);
        event!(
            debug,
            "leasehold.released",
            { lock.key = claim.key.name(), lock.token = claim.token.get(), lock.outcome = outcome },
            "a release was confirmed"
        );
    });
}

pub(crate) fn release_failed(claim: &Claim, error: &BackendError) {
    tell(|| metrics::failure("release"));
    tell(|| {
        event!(
            warn,
            "leasehold.release_failed",
            {
                lock.key = claim.key.name(),
                lock.token = claim.token.get(),
                error = error as &dyn std::error::Error,
            },
            "a release is not confirmed yet"
        );
    });
}

pub(crate) fn elected(claim: &Claim) {
    tell(|| {
        event!(
            debug,
            "leasehold.elected",
            { lock.key = claim.key.name(), lock.owner = %claim.owner, lock.token = claim.token.get() },
            "a candidate leads"
        );
    });
}

/// Emits the end of a term, after the body was dropped and the lock was released.
pub(crate) fn term_ended(claim: &Claim, outcome: &'static str, led_for: Duration) {
    tell(|| {
        event!(
            debug,
            "leasehold.term_ended",
            {
                lock.key = claim.key.name(),
                lock.token = claim.token.get(),
                outcome = outcome,
                led_for = ?led_for,
            },
            "the term of a leader has ended"
        );
    });
}

#[cfg(feature = "macros")]
pub(crate) fn skipped(key: &Key) {
    tell(|| {
        event!(
            debug,
            "leasehold.skipped",
            { lock.key = key.name() },
            "a function did not run: its lock was busy"
        );
    });
}

pub(crate) fn close_failed(error: &BackendError) {
    tell(|| metrics::failure("close"));
    tell(|| {
        event!(
            warn,
            "leasehold.close_failed",
            { error = error as &dyn std::error::Error },
            "closing the backend failed"
        );
    });
}

fn applied(error: &BackendError) -> &'static str {
    match error.applied() {
        Applied::No => "no",
        Applied::Unknown => "unknown",
    }
}

/// A connect failed, and is repeated.
pub(crate) fn connect_failed(error: &Error) {
    tell(|| {
        event!(
            warn,
            "leasehold.connect_failed",
            { error = %error },
            "connecting to the backend failed, and is repeated"
        );
    });
}
