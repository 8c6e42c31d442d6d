//! Releases a lease, and keeps what a drop leaves to be released.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::background_work::BackgroundWork;
use super::timeout::{Backoff, at_once, bounded, bounded_since};
use super::{Engine, Lease};
use crate::backend::{Applied, Backend, BackendError, ReleaseAnswer};
use crate::clock::{ClockReading, LeaseInstant};
use crate::{LossReason, ReleaseOutcome, events};

/// A release that is owed to the backend.
///
/// Dropped unpaid, it is paid in the background: repeated until it is confirmed, or until the lease
/// is certainly over and the backend has forgotten the owner by itself.
#[derive(Debug)]
pub(crate) struct PendingRelease<'a> {
    engine: &'a Arc<Engine>,
    lease: &'a Arc<Lease>,
    /// A shutdown waits for what is owed.
    debt: Option<(ReleaseRecord, TaskTrackerToken)>,
}

#[derive(Debug)]
struct ReleaseRecord {
    /// When the lease was given up.
    since: ClockReading,
    /// Why the lease had ended before the release.
    lost: Option<LossReason>,
    /// A copy that was sent and not answered may have been the one that released.
    unanswered: AtomicBool,
    ending: HoldMetrics,
}

/// How a hold ended, for the metrics. One that was given up may have been lost before, which its release finds out.
#[derive(Debug)]
struct HoldMetrics {
    held_for: Duration,
    is_counted: AtomicBool,
}

/// A release that goes on in the background.
#[derive(Debug)]
struct BackgroundRelease {
    backend: Arc<dyn Backend>,
    limit: Duration,
    lease: Arc<Lease>,
    debt: ReleaseRecord,
    end: LeaseInstant,
}

impl<'a> PendingRelease<'a> {
    /// Ends the lease and takes its release over; fails with the reason if somebody else has.
    pub(crate) fn take(engine: &'a Arc<Engine>, lease: &'a Arc<Lease>) -> Result<Self, LossReason> {
        let since = ClockReading::now();
        let lost = lease.end_at(since.moment, LossReason::Released).err();
        if !lease.claim_release() {
            return Err(lost.unwrap_or(LossReason::Released));
        }
        engine.unwatch(lease);
        let debt = ReleaseRecord {
            since,
            lost,
            unanswered: AtomicBool::new(false),
            ending: HoldMetrics {
                held_for: since.moment.since(lease.since()),
                is_counted: AtomicBool::new(lost.is_some()),
            },
        };
        Ok(Self {
            engine,
            lease,
            debt: Some((debt, engine.unfinished.token())),
        })
    }

    /// Pays at once what was just taken over, if that can be done.
    pub(crate) fn pay_now(&mut self) -> Option<ReleaseOutcome> {
        let (debt, _owed) = self.debt.as_ref()?;
        let outcome = debt.pay_now(&*self.engine.backend, self.lease)?;
        self.debt = None;
        Some(outcome)
    }

    /// Tries for as long as one command may take, counted from when it was taken over, then leaves the rest to the
    /// background.
    pub(crate) async fn pay(&mut self) -> Result<ReleaseOutcome, BackendError> {
        let Some((debt, _owed)) = &self.debt else {
            return Ok(ReleaseOutcome::Released);
        };
        let since = debt.since;
        let (backend, limit) = (&*self.engine.backend, self.engine.limits.command);
        let end = since.moment.after(limit);
        let outcome = debt.pay(backend, limit, self.lease, since, end).await?;
        self.debt = None;
        Ok(outcome)
    }
}

impl Drop for PendingRelease<'_> {
    fn drop(&mut self) {
        let Some((debt, owed)) = self.debt.take() else {
            return;
        };
        let (engine, lease) = (self.engine, self.lease);
        let release = BackgroundRelease {
            backend: Arc::clone(&engine.backend),
            limit: engine.limits.command,
            lease: Arc::clone(lease),
            debt,
            end: engine.background_end(lease.claim.ttl),
        };
        engine.backlog.add(&lease.runtime, release, owed);
    }
}

impl BackgroundWork for BackgroundRelease {
    fn carry_out(self: Arc<Self>) -> Pin<Box<dyn Future<Output = bool> + Send>> {
        Box::pin(async move {
            let (backend, lease) = (&*self.backend, &*self.lease);
            let pay = async || {
                let now = ClockReading::now();
                let paid = self.debt.pay(backend, self.limit, lease, now, self.end);
                paid.await
            };
            let mut backoff = Backoff::default();
            // Each failure was reported as it came, and nobody is left to be told.
            while let Err(_reported) = pay().await {
                // A password or a right that was taken away may be given back.
                if !backoff.pause_before(self.end).await {
                    return false;
                }
            }
            true
        })
    }
}

impl ReleaseRecord {
    /// Only where the backend has an answer at once, and no command about the lease is under way.
    fn pay_now(&self, backend: &dyn Backend, lease: &Lease) -> Option<ReleaseOutcome> {
        let _turn = match lease.last_command() {
            Some(command) => Some(command.try_lock().ok()?),
            None => None,
        };
        let earlier = self.unanswered.load(Ordering::Relaxed);
        let answer = at_once(|| backend.release_now(&lease.claim, self.since.instant))?;
        self.paid(lease, answer, earlier).ok()
    }

    /// Begins at `now`, and tries until `end`.
    async fn pay(
        &self,
        backend: &dyn Backend,
        limit: Duration,
        lease: &Lease,
        now: ClockReading,
        end: LeaseInstant,
    ) -> Result<ReleaseOutcome, BackendError> {
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
            let release = async { backend.release(&lease.claim).await };
            let sent = sent.take().unwrap_or_else(ClockReading::now);
            let earlier = self.unanswered.swap(true, Ordering::Relaxed);
            let answer = bounded_since(sent, limit.min(end.since(sent.moment)), release).await;
            match self.paid(lease, answer, earlier) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => Box::pin(backoff.pause_after(error, end)).await?,
            }
        }
    }

    fn paid(
        &self,
        lease: &Lease,
        answer: Result<ReleaseAnswer, BackendError>,
        earlier_is_unanswered: bool,
    ) -> Result<ReleaseOutcome, BackendError> {
        match answer {
            Ok(answer) => {
                let outcome = self.outcome(lease, answer, earlier_is_unanswered);
                if let ReleaseOutcome::AlreadyLost(reason) = outcome
                    && self.ending.count(reason)
                {
                    events::lost(&lease.claim, reason, self.ending.held_for);
                }
                events::released(&lease.claim, outcome);
                Ok(outcome)
            }
            Err(error) => {
                let unanswered = earlier_is_unanswered || error.applied() == Applied::Unknown;
                self.unanswered.store(unanswered, Ordering::Relaxed);
                events::release_failed(&lease.claim, &error);
                Err(error)
            }
        }
    }

    fn outcome(
        &self,
        lease: &Lease,
        answer: ReleaseAnswer,
        earlier_is_unanswered: bool,
    ) -> ReleaseOutcome {
        match (self.lost, answer) {
            (Some(reason), _) => ReleaseOutcome::AlreadyLost(reason),
            (None, ReleaseAnswer::Released) => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) if lease.deadline_has_passed() => {
                ReleaseOutcome::AlreadyLost(LossReason::Expired)
            }
            (None, ReleaseAnswer::AlreadyGone) if earlier_is_unanswered => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) => ReleaseOutcome::AlreadyLost(LossReason::Gone),
        }
    }
}

impl HoldMetrics {
    /// True the first time, and never for a lease that had ended before it was released.
    fn count(&self, reason: LossReason) -> bool {
        let counts = !self.is_counted.swap(true, Ordering::Relaxed);
        if counts {
            events::ending(reason, self.held_for);
        }
        counts
    }
}

impl Drop for HoldMetrics {
    /// Confirmed or left to run out, the lock was given up by its holder.
    fn drop(&mut self) {
        self.count(LossReason::Released);
    }
}
