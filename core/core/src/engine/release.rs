//! Releases a lease, and retries the release of a dropped guard.
//!
//! # Implementation details
//!
//! While `hold_at_least` has not passed, the backend shortens the lease to the rest of that time instead. A retry after
//! that time is a plain release.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::backend_call_timeout::{at_once, bounded, bounded_since};
use super::background_work::BackgroundWork;
use super::retry_backoff::Backoff;
use super::{Engine, Lease};
use crate::backend::{Applied, Backend, BackendError, Claim, Mode, ReleaseAnswer, RenewAnswer};
use crate::clock::{ClockReading, LeaseInstant};
use crate::{EndReason, events};

/// How a release ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseOutcome {
    /// The lock was held until its release.
    Released,
    /// The lock was lost before. Work under the lock may have run alongside another holder.
    AlreadyLost(EndReason),
}

/// A release that is due on the backend.
///
/// If this value is dropped before the release is confirmed, the release is retried in the background. The retries end
/// when the release is confirmed, or when the lease is definitely over and the backend has forgotten the owner.
#[derive(Debug)]
pub(crate) struct PendingRelease<'a> {
    engine: &'a Arc<Engine>,
    lease: &'a Arc<Lease>,
    /// A shutdown waits for pending releases.
    record: Option<(ReleaseRecord, TaskTrackerToken)>,
}

#[derive(Debug)]
struct ReleaseRecord {
    /// When the holder ended the lease.
    since: ClockReading,
    /// Why the lease had ended before the release.
    lost: Option<EndReason>,
    /// Whether an earlier request without a reply may have released the lock.
    unanswered: AtomicBool,
    ending: HoldMetrics,
}

/// Records the end of the lease for the metrics. The reply to the release may show that the lock had been lost before.
#[derive(Debug)]
struct HoldMetrics {
    /// The name of the lock.
    name: Option<&'static str>,
    held_for: Duration,
    is_counted: AtomicBool,
}

/// A release that continues in the background.
#[derive(Debug)]
struct BackgroundRelease {
    backend: Arc<dyn Backend>,
    limit: Duration,
    lease: Arc<Lease>,
    record: ReleaseRecord,
    end: LeaseInstant,
}

impl<'a> PendingRelease<'a> {
    /// Ends the lease and claims its release. Returns the reason for the end of the lease if another caller has already
    /// claimed the release.
    pub(crate) fn take(engine: &'a Arc<Engine>, lease: &'a Arc<Lease>) -> Result<Self, EndReason> {
        let since = ClockReading::now();
        let lost = lease.end_at(since.moment, EndReason::Released).err();
        if !lease.claim_release() {
            return Err(lost.unwrap_or(EndReason::Released));
        }
        engine.unwatch(lease);
        let record = ReleaseRecord {
            since,
            lost,
            unanswered: AtomicBool::new(false),
            ending: HoldMetrics {
                name: lease.claim.name,
                held_for: since.moment.since(lease.since()),
                is_counted: AtomicBool::new(lost.is_some()),
            },
        };
        Ok(Self {
            engine,
            lease,
            record: Some((record, engine.unfinished.token())),
        })
    }

    /// Releases the lock immediately, if the backend can do so without waiting. If not, and the lock was lost, returns the
    /// loss, and the release continues in the background, because the backend may be down. After a shutdown the caller
    /// waits for the release.
    pub(crate) fn send_now(&mut self) -> Option<ReleaseOutcome> {
        let (record, _token) = self.record.as_ref()?;
        let Some(outcome) = record.send_now(&*self.engine.backend, self.lease) else {
            let lost = record.lost.filter(|reason| *reason != EndReason::Shutdown);
            return lost.map(ReleaseOutcome::AlreadyLost);
        };
        self.record = None;
        Some(outcome)
    }

    /// Sends the release, and retries it for the time of one command, counted from `take`. After a failure, dropping
    /// this value continues the retries in the background.
    pub(crate) async fn send(&mut self) -> Result<ReleaseOutcome, BackendError> {
        let Some((record, _token)) = &self.record else {
            return Ok(ReleaseOutcome::Released);
        };
        let since = record.since;
        let (backend, limit) = (&*self.engine.backend, self.engine.limits.command);
        let end = since.moment.after(limit);
        let outcome = record.send(backend, limit, self.lease, since, end).await?;
        self.record = None;
        Ok(outcome)
    }
}

impl Drop for PendingRelease<'_> {
    fn drop(&mut self) {
        let Some((record, token)) = self.record.take() else {
            return;
        };
        let (engine, lease) = (self.engine, self.lease);
        let release = BackgroundRelease {
            backend: Arc::clone(&engine.backend),
            limit: engine.limits.command,
            lease: Arc::clone(lease),
            record,
            end: engine.background_end(lease.claim.ttl),
        };
        engine.backlog.add(&lease.runtime, release, token);
    }
}

impl BackgroundWork for BackgroundRelease {
    fn carry_out(self: Arc<Self>) -> Pin<Box<dyn Future<Output = bool> + Send>> {
        Box::pin(async move {
            let (backend, lease) = (&*self.backend, &*self.lease);
            let send = async || {
                let now = ClockReading::now();
                let sent = self.record.send(backend, self.limit, lease, now, self.end);
                sent.await
            };
            let mut backoff = Backoff::default();
            // Each failure was already reported by an event, and no caller waits.
            while let Err(_reported) = send().await {
                // Retry even a permanent error, because an operator may restore a password or a permission.
                if !backoff.pause_before(self.end).await {
                    return false;
                }
            }
            true
        })
    }
}

impl ReleaseRecord {
    /// Releases the lock immediately, if the backend can do so without waiting and no command about the lease is in
    /// progress.
    fn send_now(&self, backend: &dyn Backend, lease: &Lease) -> Option<ReleaseOutcome> {
        let _turn = match lease.last_command() {
            Some(command) => Some(command.try_lock().ok()?),
            None => None,
        };
        if lease.taken_for(self.since.moment).is_some() {
            return None;
        }
        let earlier = self.unanswered.load(Ordering::Relaxed);
        let answer = at_once(|| backend.release_now(&lease.claim, self.since.instant))?;
        self.outcome_of(lease, answer, earlier).ok()
    }

    /// Sends the release at `now`, and retries it until `end`.
    async fn send(
        &self,
        backend: &dyn Backend,
        limit: Duration,
        lease: &Lease,
        now: ClockReading,
        end: LeaseInstant,
    ) -> Result<ReleaseOutcome, BackendError> {
        let mut sent = Some(now);
        // Wait for a renewal in progress, because no renewal may follow the release. Limit the wait, because the
        // runtime of that renewal may not be driven.
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
            let sent = sent.take().unwrap_or_else(ClockReading::now);
            let release = async {
                match lease.taken_for(sent.moment) {
                    Some(left) => release_after(backend, &lease.claim, left).await,
                    None => backend.release(&lease.claim).await,
                }
            };
            let earlier = self.unanswered.swap(true, Ordering::Relaxed);
            let answer = bounded_since(sent, limit.min(end.since(sent.moment)), release).await;
            match self.outcome_of(lease, answer, earlier) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => Box::pin(backoff.pause_after(error, end)).await?,
            }
        }
    }

    fn outcome_of(
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
                events::released(&lease.claim, outcome != ReleaseOutcome::Released);
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
                ReleaseOutcome::AlreadyLost(EndReason::Expired)
            }
            (None, ReleaseAnswer::AlreadyGone) if earlier_is_unanswered => ReleaseOutcome::Released,
            (None, ReleaseAnswer::AlreadyGone) => ReleaseOutcome::AlreadyLost(EndReason::Gone),
        }
    }
}

/// Lets the lease end after `left`. For the holder this is a release, although the lock is taken until then.
async fn release_after(
    backend: &dyn Backend,
    claim: &Claim,
    left: Duration,
) -> Result<ReleaseAnswer, BackendError> {
    let mut claim = claim.clone();
    claim.ttl = left;
    let mut answer = backend.release_after(&claim).await?;
    // A downgrade without a reply may have made this holder a reader.
    if answer == RenewAnswer::Gone && claim.mode == Mode::Exclusive && backend.capabilities().shared
    {
        claim.mode = Mode::Shared;
        answer = backend.release_after(&claim).await?;
    }
    Ok(match answer {
        RenewAnswer::Extended { .. } => ReleaseAnswer::Released,
        RenewAnswer::Gone => ReleaseAnswer::AlreadyGone,
    })
}

impl HoldMetrics {
    /// Counts the end of the lease once, and never for a lease that had ended before its release. Returns whether this
    /// call counted it.
    fn count(&self, reason: EndReason) -> bool {
        let counts = !self.is_counted.swap(true, Ordering::Relaxed);
        if counts {
            events::ending(self.name, reason, self.held_for);
        }
        counts
    }
}

impl Drop for HoldMetrics {
    /// Counts a voluntary end of the lease, even if the backend did not confirm the release.
    fn drop(&mut self) {
        self.count(EndReason::Released);
    }
}
