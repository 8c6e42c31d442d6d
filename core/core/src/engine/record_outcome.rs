//! Records the outcome of a body and releases its lock, in one step.

use std::time::Duration;

use super::backend_call_timeout::bounded;
use super::downgrade_and_handover::{end_without_release, gone};
use super::retry_backoff::Backoff;
use super::{Hold, Lease};
use crate::backend::{Applied, BackendError, Outcome, ReleaseAnswer};
use crate::clock::LeaseInstant;
use crate::{EndReason, Error, Operation};

/// Records the outcome for `keep`, and releases the lock. Retries failures as an acquire does: for the manager's backend
/// retry timeout, while the lease lasts. If this fails, dropping `hold` releases the lock.
///
/// The error is [`Error::Lost`] only if the backend has not recorded the outcome. If a request had no reply, the backend
/// may have recorded the outcome and released the lock, so a lost lock proves nothing. In this case this function asks
/// the backend once more, and then returns [`Error::Backend`].
pub(crate) async fn record(hold: &Hold, outcome: &Outcome, keep: Duration) -> Result<(), Error> {
    let (engine, lease) = (&hold.engine, &hold.lease);
    let outage_ends = LeaseInstant::now().after(engine.limits.outage);
    let mut backoff = Backoff::default();
    let mut is_unanswered = false;
    loop {
        let left = match lease.validity() {
            Ok(left) => left,
            Err(_) if is_unanswered => Duration::ZERO,
            Err(reason) => return Err(lease.lost(reason).into()),
        };
        let limit = match left {
            Duration::ZERO => engine.limits.command,
            left => engine.limits.command.min(left),
        };
        let error = match record_once(hold, outcome, keep, limit).await {
            Ok(ReleaseAnswer::Released) => break,
            Ok(ReleaseAnswer::AlreadyGone) if is_unanswered => {
                let source = BackendError::unknown(UNANSWERED);
                return Err(failed(lease, source, is_unanswered));
            }
            Ok(ReleaseAnswer::AlreadyGone) => return Err(gone(lease)),
            Err(error) => error,
        };
        is_unanswered |= error.applied() == Applied::Unknown;
        let end = outage_ends.min(LeaseInstant::now().after(left));
        let paused = backoff.pause_after(error, end).await;
        paused.map_err(|source| failed(lease, source, is_unanswered))?;
    }
    // If the lease has ended since, the outcome is recorded anyway.
    let _ended_before = end_without_release(engine, lease, EndReason::Released);
    Ok(())
}

const UNANSWERED: &str = "a record had no reply, and the backend no longer keeps its outcome";

async fn record_once(
    hold: &Hold,
    outcome: &Outcome,
    keep: Duration,
    limit: Duration,
) -> Result<ReleaseAnswer, BackendError> {
    let (engine, lease) = (&hold.engine, &hold.lease);
    // Wait for a renewal in progress, because no renewal may follow the release.
    let _turn = lease.turn(limit).await?;
    let command = engine.backend().record(&lease.claim, outcome, keep);
    bounded(limit, command).await
}

/// Returns the error. After a request without a reply, the outcome may be recorded whatever the last error says.
fn failed(lease: &Lease, source: BackendError, is_unanswered: bool) -> Error {
    let applied = match is_unanswered {
        true => Applied::Unknown,
        false => source.applied(),
    };
    Error::Backend {
        operation: Operation::Record,
        key: lease.claim.key.clone(),
        applied,
        source,
    }
}
