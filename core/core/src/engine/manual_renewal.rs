//! Renewals that the user requests.

use std::sync::Arc;

use futures_util::future::try_join_all;
use tokio::sync::oneshot;

use super::renew::{apply, ask, unanswered};
use super::retry_backoff::Backoff;
use super::{Engine, Hold, Lease};
use crate::backend::BackendError;
use crate::clock::LeaseInstant;
use crate::{Error, Operation, events};

/// Renews one lease on request.
///
/// The renewal runs in a separate task, because it blocks automatic renewals of the same lease. Otherwise a caller that
/// polls this future only once would block those renewals forever.
pub(crate) async fn renew_now(engine: &Arc<Engine>, lease: &Arc<Lease>) -> Result<(), Error> {
    let (tell, received) = oneshot::channel();
    let (task_engine, task_lease) = (Arc::clone(engine), Arc::clone(lease));
    let renewal = async move {
        // The caller may have been dropped.
        let _received = tell.send(renew_one(&task_engine, &task_lease).await);
    };
    lease.runtime.spawn_on_current(renewal);
    received.await.unwrap_or_else(|_gone| {
        let source = BackendError::unknown("the runtime was shut down");
        Err(failed(lease, source))
    })
}

/// Renews the leases that an acquire holds so far, in one round. Retries failures as an acquire does: for the manager's
/// backend retry timeout, and at most until `give_up`.
pub(crate) async fn renew_all(
    engine: &Arc<Engine>,
    holds: &[Hold],
    give_up: Option<LeaseInstant>,
) -> Result<(), Error> {
    let outage_ends = LeaseInstant::now().after(engine.limits.outage);
    let end = give_up.map_or(outage_ends, |give_up| give_up.min(outage_ends));
    let mut backoff = Backoff::default();
    loop {
        let renewals = holds.iter().map(|hold| renew_logged(engine, &hold.lease));
        match try_join_all(renewals).await {
            Err(Error::Backend { key, source, .. }) => {
                let paused = backoff.pause_after(source, end).await;
                paused.map_err(|source| Error::backend(Operation::Acquire, key, source))?;
            }
            renewed => return renewed.map(|_all| ()),
        }
    }
}

/// Renews one of the leases, without retries. Logs each failure, because the caller does not receive it.
async fn renew_logged(engine: &Arc<Engine>, lease: &Arc<Lease>) -> Result<(), Error> {
    let renewed = renew_now(engine, lease).await;
    if let Err(Error::Backend { source, .. }) = &renewed {
        events::renewal_failed(&lease.claim, source);
    }
    renewed
}

async fn renew_one(engine: &Engine, lease: &Lease) -> Result<(), Error> {
    let turn = lease.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| failed(lease, source))?;
    let left = lease.validity().map_err(|reason| lease.lost(reason))?;
    let claims = [lease.claim.clone()];
    let sent = LeaseInstant::now();
    let limit = engine.limits.command.min(left);
    let mut answers = ask(&*engine.backend, &claims, limit).await;
    match apply(lease, sent, answers.pop().unwrap_or_else(unanswered)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(lease.lost(reason).into()),
        Err(source) => Err(failed(lease, source)),
    }
}

fn failed(lease: &Lease, source: BackendError) -> Error {
    Error::backend(Operation::Renew, lease.claim.key.clone(), source)
}
