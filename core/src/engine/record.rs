//! Records the outcome of a body and releases its lock, in one step.

use std::time::Duration;

use super::backoff::Backoff;
use super::downgrade_and_handover::{end_without_release, gone};
use super::timeout::bounded;
use super::{Hold, Lease};
use crate::backend::{BackendError, Outcome, ReleaseAnswer};
use crate::clock::LeaseInstant;
use crate::{EndReason, Error, Operation};

/// Records the outcome for `keep`, and releases the lock. Retries failures as an acquire does: for the manager's backend
/// retry timeout, while the lease lasts. If this fails, dropping `hold` releases the lock.
pub(crate) async fn record(hold: &Hold, outcome: &Outcome, keep: Duration) -> Result<(), Error> {
    let (engine, lease) = (&hold.engine, &hold.lease);
    let outage_ends = LeaseInstant::now().after(engine.limits.outage);
    let mut backoff = Backoff::default();
    loop {
        let left = lease.validity().map_err(|reason| lease.lost(reason))?;
        let Err(error) = record_once(hold, outcome, keep, left).await else {
            break;
        };
        let error = match error {
            NotRecorded::Gone => return Err(gone(lease)),
            NotRecorded::Failed(error) => error,
        };
        let end = outage_ends.min(LeaseInstant::now().after(left));
        let paused = backoff.pause_after(error, end).await;
        paused.map_err(|source| failed(lease, source))?;
    }
    end_without_release(engine, lease, EndReason::Released)
        .map_err(|reason| lease.lost(reason).into())
}

enum NotRecorded {
    Gone,
    Failed(BackendError),
}

async fn record_once(
    hold: &Hold,
    outcome: &Outcome,
    keep: Duration,
    left: Duration,
) -> Result<(), NotRecorded> {
    let (engine, lease) = (&hold.engine, &hold.lease);
    let limit = engine.limits.command.min(left);
    // Wait for a renewal in progress, because no renewal may follow the release.
    let _turn = lease.turn(limit).await.map_err(NotRecorded::Failed)?;
    let command = engine.backend().record(&lease.claim, outcome, keep);
    match bounded(limit, command).await {
        Ok(ReleaseAnswer::Released) => Ok(()),
        Ok(ReleaseAnswer::AlreadyGone) => Err(NotRecorded::Gone),
        Err(error) => Err(NotRecorded::Failed(error)),
    }
}

fn failed(lease: &Lease, source: BackendError) -> Error {
    Error::backend(Operation::Record, lease.claim.key.clone(), source)
}
