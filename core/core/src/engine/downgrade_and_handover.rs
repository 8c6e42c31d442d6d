//! Downgrade and handover: conversions of a held lock without a release.

use std::sync::Arc;

use super::backend_call_timeout::bounded;
use super::{Engine, Hold, Lease};
use crate::backend::{BackendError, Handover, HandoverSecret, Mode, RenewAnswer};
use crate::clock::LeaseInstant;
use crate::{EndReason, Error, Operation};

/// Turns an exclusive lock into a shared lock. If the downgrade fails, dropping `hold` releases the lock.
pub(crate) async fn downgrade(hold: &Hold) -> Result<Hold, Error> {
    let (engine, old) = (Arc::clone(&hold.engine), Arc::clone(&hold.lease));
    if !engine.backend().capabilities().shared {
        return Err(unsupported(Operation::Downgrade, &old, "read locks"));
    }
    let turn = old.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| failed(Operation::Downgrade, &old, source))?;
    let left = old.validity().map_err(|reason| old.lost(reason))?;
    let sent = LeaseInstant::now();
    let command = engine.backend().downgrade(&old.claim);
    let granted = match bounded(engine.limits.command.min(left), command).await {
        Ok(RenewAnswer::Extended { lease }) => lease,
        Ok(RenewAnswer::Gone) => return Err(gone(&old)),
        Err(source) => return Err(failed(Operation::Downgrade, &old, source)),
    };
    let mut claim = old.claim.clone();
    claim.mode = Mode::Shared;
    end_without_release(&engine, &old, EndReason::Downgraded).map_err(|reason| old.lost(reason))?;
    let lease = Arc::new(old.continued(claim, granted, sent));
    let hold = Hold { engine, lease };
    hold.engine.watch(&hold.lease, LeaseInstant::now());
    // This check follows `watch`, so either this check detects the shutdown, or the shutdown finds the lease.
    if hold.engine.is_closed() {
        let reason = hold.lease.end(EndReason::Shutdown).err();
        return Err(hold
            .lease
            .lost(reason.unwrap_or(EndReason::Shutdown))
            .into());
    }
    Ok(hold)
}

/// Renews the lease and stops its automatic renewal, because the remaining lease belongs to the next holder. If the
/// handover fails, dropping `hold` releases the lock, and the secret is invalid.
pub(crate) async fn hand_over(hold: &Hold) -> Result<Handover, Error> {
    let (engine, lease) = (&hold.engine, &hold.lease);
    if !engine.backend().capabilities().handover {
        return Err(unsupported(Operation::HandOver, lease, "handovers"));
    }
    // Wait for a renewal in progress, because no renewal may follow the handover.
    let turn = lease.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| failed(Operation::HandOver, lease, source))?;
    let left = lease.validity().map_err(|reason| lease.lost(reason))?;
    let secret = HandoverSecret::random();
    let command = engine.backend().hand_over(&lease.claim, secret);
    match bounded(engine.limits.command.min(left), command).await {
        Ok(RenewAnswer::Extended { .. }) => {}
        Ok(RenewAnswer::Gone) => return Err(gone(lease)),
        Err(source) => return Err(failed(Operation::HandOver, lease, source)),
    }
    end_without_release(engine, lease, EndReason::HandedOver)
        .map_err(|reason| lease.lost(reason))?;
    Ok(Handover::new(&lease.claim, secret))
}

/// Returns the error for a lease that the backend does not know.
pub(super) fn gone(lease: &Lease) -> Error {
    let reason = lease.end(EndReason::Gone).err();
    lease.lost(reason.unwrap_or(EndReason::Gone)).into()
}

/// Ends a lease without releasing its lock. A shutdown may still release it.
pub(super) fn end_without_release(
    engine: &Engine,
    lease: &Lease,
    reason: EndReason,
) -> Result<(), EndReason> {
    lease.end(reason)?;
    if !lease.claim_release() {
        return Err(EndReason::Shutdown);
    }
    engine.unwatch(lease);
    Ok(())
}

fn unsupported(operation: Operation, lease: &Lease, what: &'static str) -> Error {
    Error::Unsupported {
        operation,
        key: lease.claim.key.clone(),
        what,
    }
}

fn failed(operation: Operation, lease: &Lease, source: BackendError) -> Error {
    Error::backend(operation, lease.claim.key.clone(), source)
}
