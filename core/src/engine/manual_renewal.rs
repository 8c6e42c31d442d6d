//! Renewals that the user calls.

use std::sync::Arc;

use futures_util::future::try_join_all;
use tokio::sync::oneshot;

use super::renew::{apply, ask, unanswered};
use super::timeout::Backoff;
use super::{Engine, Hold, Lease};
use crate::backend::BackendError;
use crate::clock::LeaseInstant;
use crate::{RenewError, events};

/// Renews one lease at its holder's wish.
///
/// In a task of its own: the watchdog makes way for it, and must not wait for a caller who polls this
/// once and then does other things.
pub(crate) async fn renew_now(engine: &Arc<Engine>, lease: &Arc<Lease>) -> Result<(), RenewError> {
    let (tell, told) = oneshot::channel();
    let (task_engine, task_lease) = (Arc::clone(engine), Arc::clone(lease));
    let renewal = async move {
        // Nobody may be left to be told.
        let _told = tell.send(renew_one(&task_engine, &task_lease).await);
    };
    lease.runtime.spawn_on_current(renewal);
    told.await.unwrap_or_else(|_gone| {
        Err(RenewError::Backend {
            key: lease.claim.key.clone(),
            source: BackendError::unknown("the runtime was shut down"),
        })
    })
}

/// Renews leases that an acquire has got so far, all of them in one round. As an acquire it rides out failures: for the
/// manager's outage limit, and no longer than until `give_up`.
pub(crate) async fn renew_all(
    engine: &Arc<Engine>,
    holds: &[Hold],
    give_up: Option<LeaseInstant>,
) -> Result<(), RenewError> {
    let outage_ends = LeaseInstant::now().after(engine.limits.outage);
    let end = give_up.map_or(outage_ends, |give_up| give_up.min(outage_ends));
    let mut backoff = Backoff::default();
    loop {
        let renewals = holds.iter().map(|hold| renew_logged(engine, &hold.lease));
        match try_join_all(renewals).await {
            Err(RenewError::Backend { key, source }) => {
                let paused = backoff.pause_after(source, end).await;
                paused.map_err(|source| RenewError::Backend { key, source })?;
            }
            renewed => return renewed.map(|_all| ()),
        }
    }
}

/// The same for one of them, once. The caller does not hear of each failure.
async fn renew_logged(engine: &Arc<Engine>, lease: &Arc<Lease>) -> Result<(), RenewError> {
    let renewed = renew_now(engine, lease).await;
    if let Err(RenewError::Backend { source, .. }) = &renewed {
        events::renewal_failed(&lease.claim, source);
    }
    renewed
}

async fn renew_one(engine: &Engine, lease: &Lease) -> Result<(), RenewError> {
    let turn = lease.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| RenewError::Backend {
        key: lease.claim.key.clone(),
        source,
    })?;
    let left = lease.validity().map_err(|reason| lease.lost(reason))?;
    let claims = [lease.claim.clone()];
    let sent = LeaseInstant::now();
    let limit = engine.limits.command.min(left);
    let mut answers = ask(&*engine.backend, &claims, limit).await;
    match apply(lease, sent, answers.pop().unwrap_or_else(unanswered)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(lease.lost(reason).into()),
        Err(source) => Err(RenewError::Backend {
            key: lease.claim.key.clone(),
            source,
        }),
    }
}
