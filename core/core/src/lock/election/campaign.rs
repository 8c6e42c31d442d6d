//! Campaigns: a candidate waits for its lock, and runs its body while it leads.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::clock::{self, LeaseInstant};
use crate::lock::run_guard::release_after;
use crate::{EndReason, Error, Lock, LockGuard, LockHandle, events};

/// The time after its term in which a candidate does not compete, so that others can lead.
const PAUSE_AFTER_TERM: Duration = Duration::from_millis(20);

/// The terms of one candidate. At most one of them is current.
#[derive(Debug, Default)]
pub(super) struct Terms(Mutex<Option<TermSignals>>);

#[derive(Debug, Clone, Default)]
struct TermSignals {
    resigned: CancellationToken,
    /// Cancelled when the term is over: the body is dropped, and the release is confirmed or continues in the
    /// background.
    over: CancellationToken,
}

/// A term from its begin until its lock is released.
struct Term {
    resigned: CancellationToken,
    leader: LockHandle,
    /// How the term ended. The initial value is for a campaign that is dropped, or whose body panics.
    outcome: &'static str,
    _over: DropGuard,
}

impl Terms {
    pub(super) async fn resign(&self) {
        let current = self.0.lock().clone();
        if let Some(TermSignals { resigned, over }) = current {
            resigned.cancel();
            over.cancelled().await;
        }
    }

    fn begin(&self, leader: LockHandle) -> Term {
        let signals = TermSignals::default();
        *self.0.lock() = Some(signals.clone());
        events::elected(&leader.lease().claim);
        Term {
            resigned: signals.resigned,
            leader,
            outcome: "cancelled",
            _over: signals.over.drop_guard(),
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        let lease = self.leader.lease();
        let led_for = LeaseInstant::now().since(lease.since());
        events::term_ended(&lease.claim, self.outcome, led_for);
    }
}

/// Campaigns until the body returns, or until the campaign cannot succeed.
pub(super) async fn campaign<T, E, B>(lock: Lock, terms: Arc<Terms>, body: B) -> Result<T, E>
where
    B: AsyncFnOnce(LockHandle) -> Result<T, E> + Clone,
    E: From<Error>,
{
    // The token is dropped after the guard, so a shutdown waits for the end of a term.
    let _in_progress = lock.engine.in_progress();
    loop {
        let guard = lock.clone().take(true).await?;
        if let Some(output) = lead(guard, Arc::clone(&terms), body.clone()).await {
            return output;
        }
        clock::sleep_until(LeaseInstant::now().after(PAUSE_AFTER_TERM)).await;
    }
}

/// How a term ended.
enum TermEnd<O> {
    Completed(O),
    Resigned,
    Lost(EndReason),
}

/// Runs the body for one term. Returns the result of the campaign, or `None` if the candidate campaigns again.
async fn lead<T, E: From<Error>>(
    guard: LockGuard,
    terms: Arc<Terms>,
    body: impl AsyncFnOnce(LockHandle) -> Result<T, E>,
) -> Option<Result<T, E>> {
    // If this future is dropped, these values are dropped in reverse order: the body before the guard, and the guard
    // before the term, for which `resign` waits.
    let leader = guard.handle();
    leader.lease().leave_release_to_holder();
    let mut term = terms.begin(leader.clone());
    let guard = guard;
    let end = {
        let running = leader.run_future(body(leader.clone()));
        tokio::select! {
            biased;
            () = term.resigned.cancelled() => TermEnd::Resigned,
            ran = running => match ran {
                Ok(output) => TermEnd::Completed(output),
                Err(lost) => TermEnd::Lost(lost.reason),
            },
        }
    };
    match end {
        TermEnd::Completed(output) => {
            term.outcome = if output.is_ok() {
                "completed"
            } else {
                "failed"
            };
            Some(release_after(guard, output).await)
        }
        TermEnd::Resigned => {
            term.outcome = "resigned";
            release(guard).await;
            None
        }
        TermEnd::Lost(reason) => {
            term.outcome = reason.as_str();
            if reason != EndReason::Shutdown {
                // The backend may be down, so the release is not awaited.
                return None;
            }
            let key = leader.lease().claim.key.clone();
            release(guard).await;
            Some(Err(Error::Closed { key }.into()))
        }
    }
}

/// Releases the lock of a body that was dropped. A release without a confirmation continues in the background, and a
/// loss does not concern the body.
async fn release(guard: LockGuard) {
    // The release is boxed, so that the future of a campaign is hardly larger than its body.
    let _released = Box::pin(guard.release()).await;
}
