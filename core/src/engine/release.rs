use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::call::{Backoff, at_once, bounded, bounded_since};
use super::unpaid::Unpaid;
use super::{Engine, Lease};
use crate::backend::{Applied, BackendError, ReleaseAnswer};
use crate::clock::{Look, Moment};
use crate::{LossReason, ReleaseOutcome, observe};

/// A release that is owed to the backend.
///
/// Dropped unpaid, it is paid in the background: repeated until it is confirmed, or until the lease
/// is certainly over and the backend has forgotten the owner by itself.
#[derive(Debug)]
pub(crate) struct ReleaseDebt<'a> {
    engine: &'a Arc<Engine>,
    lease: &'a Arc<Lease>,
    /// A shutdown waits for what is owed.
    debt: Option<(Debt, TaskTrackerToken)>,
}

#[derive(Debug)]
struct Debt {
    /// When the lease was given up.
    since: Look,
    /// Why the lease had ended before the release.
    lost: Option<LossReason>,
    /// A copy that was not answered may have been the one that released.
    unanswered: bool,
}

impl<'a> ReleaseDebt<'a> {
    /// Ends the lease and takes its release over; fails with the reason if somebody else has.
    pub(crate) fn take(engine: &'a Arc<Engine>, lease: &'a Arc<Lease>) -> Result<Self, LossReason> {
        let since = Look::now();
        let lost = lease.end_at(since.moment, LossReason::Released).err();
        if !lease.take_release() {
            return Err(lost.unwrap_or(LossReason::Released));
        }
        engine.unwatch(lease);
        let debt = Debt {
            since,
            lost,
            unanswered: false,
        };
        Ok(Self {
            engine,
            lease,
            debt: Some((debt, engine.unfinished.token())),
        })
    }

    /// Pays at once what was just taken over, if that can be done.
    pub(crate) fn pay_now(&mut self) -> Option<ReleaseOutcome> {
        let (debt, _owed) = self.debt.as_mut()?;
        let outcome = debt.pay_now(self.engine, self.lease)?;
        self.debt = None;
        Some(outcome)
    }

    /// Tries for as long as one command may take, counted from when it was taken over, then leaves the rest to the
    /// background.
    pub(crate) async fn pay(&mut self) -> Result<ReleaseOutcome, BackendError> {
        let Some((debt, _owed)) = &mut self.debt else {
            return Ok(ReleaseOutcome::Released);
        };
        let since = debt.since;
        let end = since.moment.after(self.engine.limits.command);
        let outcome = debt.pay(self.engine, self.lease, since, end).await?;
        self.debt = None;
        Ok(outcome)
    }
}

impl Drop for ReleaseDebt<'_> {
    fn drop(&mut self) {
        let Some((mut debt, owed)) = self.debt.take() else {
            return;
        };
        let (unpaid, lease) = (Unpaid::new(self.engine, owed), Arc::clone(self.lease));
        self.lease.runtime.spawn_here(async move {
            let engine = unpaid.engine();
            let end = engine.background_end(lease.claim.ttl);
            // Each failure was reported as it came, and nobody is left to be told.
            if debt.pay(engine, &lease, Look::now(), end).await.is_ok() {
                unpaid.paid();
            }
        });
    }
}

impl Debt {
    /// Only where the backend has an answer at once, and no command about the lease is under way.
    fn pay_now(&mut self, engine: &Engine, lease: &Lease) -> Option<ReleaseOutcome> {
        let _turn = match lease.last_command() {
            Some(command) => Some(command.try_lock().ok()?),
            None => None,
        };
        let answer = at_once(|| engine.backend.release_now(&lease.claim, self.since.instant))?;
        self.paid(lease, answer).ok()
    }

    /// Begins at `now`, and tries until `end`.
    async fn pay(
        &mut self,
        engine: &Engine,
        lease: &Lease,
        now: Look,
        end: Moment,
    ) -> Result<ReleaseOutcome, BackendError> {
        let (claim, limit) = (&lease.claim, engine.limits.command);
        let mut sent = Some(now);
        // A renewal that is under way comes first: nothing may renew after the release was sent. It is
        // bounded itself, unless nobody drives its runtime any more.
        let _turn = match lease.last_command().map(|it| (it, it.try_lock())) {
            None => None,
            Some((_, Ok(turn))) => Some(turn),
            Some((command, Err(_under_way))) => {
                sent = None;
                let turn = bounded(limit, async { Ok(command.lock().await) });
                Box::pin(turn).await.ok()
            }
        };
        let mut backoff = Backoff::default();
        loop {
            let release = async { engine.backend.release(claim).await };
            let sent = sent.take().unwrap_or_else(Look::now);
            let answer = bounded_since(sent, limit.min(end.since(sent.moment)), release).await;
            match self.paid(lease, answer) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => Box::pin(backoff.pause_after(error, end)).await?,
            }
        }
    }

    fn paid(
        &mut self,
        lease: &Lease,
        answer: Result<ReleaseAnswer, BackendError>,
    ) -> Result<ReleaseOutcome, BackendError> {
        match answer {
            Ok(answer) => {
                let outcome = self.outcome(lease, answer);
                observe::released(&lease.claim, outcome);
                Ok(outcome)
            }
            Err(error) => {
                self.unanswered |= error.applied() == Applied::Unknown;
                observe::release_failed(&lease.claim, &error);
                Err(error)
            }
        }
    }

    fn outcome(&self, lease: &Lease, answer: ReleaseAnswer) -> ReleaseOutcome {
        match (self.lost, answer) {
            (Some(reason), _) => ReleaseOutcome::AlreadyLost(reason),
            (None, ReleaseAnswer::Released) => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) if lease.deadline_has_passed() => {
                ReleaseOutcome::AlreadyLost(LossReason::Expired)
            }
            (None, ReleaseAnswer::AlreadyGone) if self.unanswered => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) => ReleaseOutcome::AlreadyLost(LossReason::Gone),
        }
    }
}
