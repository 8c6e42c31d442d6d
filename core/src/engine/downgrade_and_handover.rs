//! Downgrade and handover: what a held lock becomes without a release.

use std::sync::Arc;

use super::timeout::bounded;
use super::{Engine, Hold, Lease};
use crate::backend::{BackendError, Claim, Handover, HandoverSecret, Mode, RenewAnswer};
use crate::clock::LeaseInstant;
use crate::{ConvertError, LossReason};

/// Shares what was held alone. Whatever goes wrong, the lock is released as the hold is dropped.
pub(crate) async fn downgrade(hold: &Hold) -> Result<Hold, ConvertError> {
    let (engine, old) = (Arc::clone(&hold.engine), Arc::clone(&hold.lease));
    if !engine.backend().capabilities().shared {
        return Err(unsupported(&old, "readers that share a lock"));
    }
    let turn = old.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| failed(&old, source))?;
    let left = old.validity().map_err(|reason| old.lost(reason))?;
    let sent = LeaseInstant::now();
    let command = engine.backend().downgrade(&old.claim);
    let granted = match bounded(engine.limits.command.min(left), command).await {
        Ok(RenewAnswer::Extended { lease }) => lease,
        Ok(RenewAnswer::Gone) => return Err(gone(&old)),
        Err(source) => return Err(failed(&old, source)),
    };
    let claim = Claim {
        mode: Mode::Shared,
        ..old.claim.clone()
    };
    end_without_release(&engine, &old, LossReason::Downgraded)
        .map_err(|reason| old.lost(reason))?;
    let lease = Arc::new(old.continued(claim, granted, sent));
    let hold = Hold { engine, lease };
    hold.engine.watch(&hold.lease, LeaseInstant::now());
    // Looked at after `watch`: either this sees the shutdown, or the shutdown sees the lease.
    if hold.engine.is_closed() {
        let reason = hold.lease.end(LossReason::Shutdown).err();
        return Err(hold
            .lease
            .lost(reason.unwrap_or(LossReason::Shutdown))
            .into());
    }
    Ok(hold)
}

/// Sets the lease anew and stops looking after it: what is left is for whoever takes it up. Whatever goes wrong, the lock
/// is released as the hold is dropped, and the secret is of no use.
pub(crate) async fn hand_over(hold: &Hold) -> Result<Handover, ConvertError> {
    let (engine, lease) = (&hold.engine, &hold.lease);
    if !engine.backend().capabilities().handover {
        return Err(unsupported(lease, "locks that are handed over"));
    }
    // A renewal that is under way is over before the ticket exists.
    let turn = lease.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| failed(lease, source))?;
    let left = lease.validity().map_err(|reason| lease.lost(reason))?;
    let secret = HandoverSecret::random();
    let command = engine.backend().hand_over(&lease.claim, secret);
    match bounded(engine.limits.command.min(left), command).await {
        Ok(RenewAnswer::Extended { .. }) => {}
        Ok(RenewAnswer::Gone) => return Err(gone(lease)),
        Err(source) => return Err(failed(lease, source)),
    }
    end_without_release(engine, lease, LossReason::HandedOver)
        .map_err(|reason| lease.lost(reason))?;
    Ok(Handover::new(&lease.claim, secret))
}

/// The backend knows nothing of the lease any more.
fn gone(lease: &Lease) -> ConvertError {
    let reason = lease.end(LossReason::Gone).err();
    lease.lost(reason.unwrap_or(LossReason::Gone)).into()
}

/// Ends a lease whose lock is not released with it. A shutdown may release it all the same.
fn end_without_release(
    engine: &Engine,
    lease: &Lease,
    reason: LossReason,
) -> Result<(), LossReason> {
    lease.end(reason)?;
    if !lease.claim_release() {
        return Err(LossReason::Shutdown);
    }
    engine.unwatch(lease);
    Ok(())
}

fn unsupported(lease: &Lease, what: &'static str) -> ConvertError {
    ConvertError::Unsupported {
        key: lease.claim.key.clone(),
        what,
    }
}

fn failed(lease: &Lease, source: BackendError) -> ConvertError {
    ConvertError::Backend {
        key: lease.claim.key.clone(),
        source,
    }
}
