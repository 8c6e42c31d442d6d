use std::sync::Arc;

use tokio::sync::oneshot;

use super::renew::{accept, ask, unanswered};
use super::{Engine, Lease};
use crate::RenewError;
use crate::backend::BackendError;
use crate::clock::Moment;

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
    lease.runtime.spawn_here(renewal);
    told.await.unwrap_or_else(|_gone| {
        Err(RenewError::Backend {
            key: lease.claim.key.clone(),
            source: BackendError::unknown("the runtime was shut down"),
        })
    })
}

async fn renew_one(engine: &Engine, lease: &Lease) -> Result<(), RenewError> {
    let turn = lease.turn(engine.limits.command).await;
    let _turn = turn.map_err(|source| RenewError::Backend {
        key: lease.claim.key.clone(),
        source,
    })?;
    let left = lease.validity().map_err(|reason| lease.lost(reason))?;
    let claims = [lease.claim.clone()];
    let sent = Moment::now();
    let limit = engine.limits.command.min(left);
    let mut answers = ask(&*engine.backend, &claims, limit).await;
    match accept(lease, sent, answers.pop().unwrap_or_else(unanswered)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(reason)) => Err(lease.lost(reason).into()),
        Err(source) => Err(RenewError::Backend {
            key: lease.claim.key.clone(),
            source,
        }),
    }
}
