use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::call::{Backoff, at_once, bounded, bounded_since};
use super::{Engine, Lease};
use crate::backend::{Applied, BackendError, ReleaseAnswer};
use crate::clock::Moment;
use crate::{LossReason, ReleaseOutcome, observe};

/// A release that is owed to the backend.
///
/// Dropped unpaid, it is paid in the background: repeated until it is confirmed, or until the lease
/// is certainly over and the backend has forgotten the owner by itself.
#[derive(Debug)]
pub(crate) struct ReleaseDebt(Option<Debt>);

#[derive(Debug)]
struct Debt {
    engine: Arc<Engine>,
    lease: Arc<Lease>,
    /// When the lease was given up.
    since: Moment,
    /// Why the lease had ended before the release.
    lost: Option<LossReason>,
    /// A copy that was not answered may have been the one that released.
    unanswered: bool,
    /// A shutdown waits for what is owed.
    _owed: TaskTrackerToken,
}

impl ReleaseDebt {
    /// Ends the lease and takes its release over; fails with the reason if somebody else has.
    pub(crate) fn take(engine: &Arc<Engine>, lease: &Arc<Lease>) -> Result<Self, LossReason> {
        let now = Moment::now();
        let lost = lease.end_at(now, LossReason::Released).err();
        if !lease.take_release() {
            return Err(lost.unwrap_or(LossReason::Released));
        }
        engine.unwatch(lease);
        Ok(Self(Some(Debt {
            engine: Arc::clone(engine),
            lease: Arc::clone(lease),
            since: now,
            lost,
            unanswered: false,
            _owed: engine.unfinished.token(),
        })))
    }

    /// Tries for as long as one command may take, counted from when it was taken over, then leaves the rest to the
    /// background.
    pub(crate) async fn pay(mut self) -> Result<ReleaseOutcome, BackendError> {
        let Some(debt) = &mut self.0 else {
            return Ok(ReleaseOutcome::Released);
        };
        let (limit, since) = (debt.engine.limits.command, debt.since);
        let outcome = debt.pay(since, since.after(limit)).await?;
        self.0 = None;
        Ok(outcome)
    }
}

impl Drop for ReleaseDebt {
    fn drop(&mut self) {
        let Some(mut debt) = self.0.take() else {
            return;
        };
        let runtime = debt.lease.runtime.clone();
        runtime.spawn_here(async move {
            let end = debt.engine.background_end(debt.lease.claim.ttl);
            // Each failure was reported as it came, and nobody is left to be told.
            let _outcome = debt.pay(Moment::now(), end).await;
        });
    }
}

impl Debt {
    /// Begins at the moment `now`, and tries until `end`.
    async fn pay(&mut self, now: Moment, end: Moment) -> Result<ReleaseOutcome, BackendError> {
        let (claim, limit) = (&self.lease.claim, self.engine.limits.command);
        let (mut sent, command) = (Some(now), &self.lease.command);
        // A renewal that is under way comes first: nothing may renew after the release was sent. It is
        // bounded itself, unless nobody drives its runtime any more.
        let _turn = match command.try_lock() {
            Ok(turn) => Ok(turn),
            Err(_under_way) => {
                sent = None;
                Box::pin(bounded(limit, async { Ok(command.lock().await) })).await
            }
        };
        let mut backoff = Backoff::default();
        loop {
            let (backend, sent) = (
                &self.engine.backend,
                sent.take().unwrap_or_else(Moment::now),
            );
            let answer = match at_once(|| backend.release_now(claim)) {
                Some(answer) => answer,
                None => {
                    let release = async { backend.release(claim).await };
                    bounded_since(sent, limit.min(end.since(sent)), release).await
                }
            };
            match answer {
                Ok(answer) => {
                    let outcome = self.outcome(answer);
                    observe::released(claim, outcome);
                    return Ok(outcome);
                }
                Err(error) => {
                    self.unanswered |= error.applied() == Applied::Unknown;
                    observe::release_failed(claim, &error);
                    Box::pin(backoff.pause_after(error, end)).await?;
                }
            }
        }
    }

    fn outcome(&self, answer: ReleaseAnswer) -> ReleaseOutcome {
        match (self.lost, answer) {
            (Some(reason), _) => ReleaseOutcome::AlreadyLost(reason),
            (None, ReleaseAnswer::Released) => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) if self.lease.deadline_has_passed() => {
                ReleaseOutcome::AlreadyLost(LossReason::Expired)
            }
            (None, ReleaseAnswer::AlreadyGone) if self.unanswered => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) => ReleaseOutcome::AlreadyLost(LossReason::Gone),
        }
    }
}
