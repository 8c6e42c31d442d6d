//! A lease as this process knows it: its deadline, and how it ended.

pub(crate) mod lease_end;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::timeout::bounded;
use crate::backend::{Backend, BackendError, Claim, Mode};
use crate::clock::LeaseInstant;
use crate::options::LockOptions;
use crate::runtime::Runtime;
use crate::{LossReason, Lost, events};

/// A lease as this process knows it: shared by guard, handles and watchdog.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) claim: Claim,
    pub(crate) runtime: Runtime,
    /// The address of who granted it. The hold of a lease that has not ended keeps it alive, so that the address is
    /// nobody else's.
    backend: usize,
    renewal: AtomicBool,
    /// Wakes those who wait for the end, if anybody does. It follows `state`, which alone decides.
    ended: OnceLock<CancellationToken>,
    /// Held while a command is under way that keeps or changes this claim. Most locks are released before anything else is
    /// asked about them.
    command: OnceLock<tokio::sync::Mutex<()>>,
    since: LeaseInstant,
    state: Mutex<LeaseState>,
    release_owed: AtomicBool,
}

#[derive(Debug)]
struct LeaseState {
    /// What the backend granted last, which may be less than was asked for.
    granted: Duration,
    deadline: LeaseInstant,
    /// Where `max_hold` ends.
    last_moment: Option<LeaseInstant>,
    end: Option<LossReason>,
}

impl Lease {
    /// `sent` is when the granted request was sent, so that no delay of the answer lengthens the lease.
    pub(super) fn new(
        backend: &Arc<dyn Backend>,
        claim: Claim,
        granted: Duration,
        sent: LeaseInstant,
        options: &LockOptions,
        runtime: Runtime,
    ) -> Self {
        events::held();
        Self {
            claim,
            runtime,
            backend: address(backend),
            renewal: AtomicBool::new(options.renewal),
            ended: OnceLock::new(),
            command: OnceLock::new(),
            since: sent,
            state: Mutex::new(LeaseState {
                granted,
                deadline: Self::deadline(sent, granted),
                last_moment: options.max_hold.map(|d| sent.after(d)),
                end: None,
            }),
            release_owed: AtomicBool::new(true),
        }
    }

    /// The lease of a claim that this one's has become, granted by a request sent at `sent`.
    pub(super) fn continued(&self, claim: Claim, granted: Duration, sent: LeaseInstant) -> Self {
        events::held();
        Self {
            claim,
            runtime: self.runtime.clone(),
            backend: self.backend,
            renewal: AtomicBool::new(self.is_renewed()),
            ended: OnceLock::new(),
            command: OnceLock::new(),
            since: sent,
            state: Mutex::new(LeaseState {
                granted,
                deadline: Self::deadline(sent, granted),
                last_moment: self.state.lock().last_moment,
                end: None,
            }),
            release_owed: AtomicBool::new(true),
        }
    }

    /// Up to when a lease that was granted for a request sent at `sent` may be relied on.
    pub(super) fn deadline(sent: LeaseInstant, granted: Duration) -> LeaseInstant {
        sent.after(without_drift(granted))
    }

    /// Whether it is valid, and a manager that locks on `backend`, or a clone of it, acquired it.
    pub(crate) fn is_valid_on(&self, backend: &Arc<dyn Backend>) -> bool {
        self.backend == address(backend) && self.validity().is_ok()
    }

    /// When the request was sent that was granted.
    pub(crate) fn since(&self) -> LeaseInstant {
        self.since
    }

    /// Begins the hold at `begin`: up to here the lease was kept as part of a whole that was not complete.
    pub(super) fn settle(&self, options: &LockOptions, begin: LeaseInstant) {
        self.renewal.store(options.renewal, Ordering::Release);
        self.state.lock().last_moment = options.max_hold.map(|d| begin.after(d));
    }

    /// Whether the watchdog renews it.
    pub(super) fn is_renewed(&self) -> bool {
        self.renewal.load(Ordering::Acquire)
    }

    /// What is cancelled when the lease ends. Who asks for it looks at the lease again before it waits: an end that came
    /// before has told nobody.
    pub(super) fn ending(&self) -> &CancellationToken {
        self.ended.get_or_init(CancellationToken::new)
    }

    /// The turn of whoever sends a command that keeps the lease: it looks at the lease when it has its turn, and sends
    /// nothing about one that has ended. So what renews is over before what releases is sent.
    pub(super) fn command(&self) -> &tokio::sync::Mutex<()> {
        self.command.get_or_init(tokio::sync::Mutex::default)
    }

    /// The same, for whoever has ended the lease: nobody's turn, if nobody has asked for one. Who asks for one now finds
    /// the lease ended.
    pub(super) fn last_command(&self) -> Option<&tokio::sync::Mutex<()>> {
        self.command.get()
    }

    /// Waits for a turn. Who has one is bounded, unless nobody drives its runtime any more.
    pub(super) async fn turn(
        &self,
        limit: Duration,
    ) -> Result<tokio::sync::MutexGuard<'_, ()>, BackendError> {
        bounded(limit, async { Ok(self.command().lock().await) }).await
    }

    pub(super) fn deadline_has_passed(&self) -> bool {
        self.state.lock().deadline.has_passed()
    }

    /// How long the lock is surely held, or why it is not. Notices the deadline by itself, whether or
    /// not the watchdog has.
    pub(crate) fn validity(&self) -> Result<Duration, LossReason> {
        self.judge(LeaseInstant::now(), |_state| ())
    }

    /// Ends the lease unless it has ended: its deadline comes before any later reason.
    pub(crate) fn end(&self, reason: LossReason) -> Result<(), LossReason> {
        self.end_at(LeaseInstant::now(), reason)
    }

    /// The same, as of a moment that was read just before.
    pub(super) fn end_at(&self, now: LeaseInstant, reason: LossReason) -> Result<(), LossReason> {
        self.judge(now, |state| state.end = Some(reason))?;
        self.announce(now, reason);
        Ok(())
    }

    /// Takes a confirmed renewal into account; one that was confirmed after the end changes nothing.
    pub(super) fn extend(&self, sent: LeaseInstant, granted: Duration) -> Result<(), LossReason> {
        self.judge(LeaseInstant::now(), |state| {
            state.granted = granted;
            state.deadline = Self::deadline(sent, granted);
        })?;
        Ok(())
    }

    /// The length of the lease as it was granted last, and how much of it is left: nothing of one that has ended.
    pub(super) fn remaining_validity(&self, now: LeaseInstant) -> (Duration, Duration) {
        let mut length = Duration::ZERO;
        let left = self.judge(now, |state| length = state.granted);
        (length, left.unwrap_or_default())
    }

    /// The length of the lease as it was granted last.
    pub(super) fn length(&self) -> Duration {
        self.state.lock().granted
    }

    /// Changes the state if the lease has not ended, in one step.
    fn judge(
        &self,
        now: LeaseInstant,
        change: impl FnOnce(&mut LeaseState),
    ) -> Result<Duration, LossReason> {
        let mut state = self.state.lock();
        if let Some(reason) = state.end {
            return Err(reason);
        }
        let (reason, end) = match state.last_moment {
            Some(last) if last <= state.deadline => (LossReason::MaxHold, last),
            _ => (LossReason::Expired, state.deadline),
        };
        if now < end {
            change(&mut state);
            return Ok(end.since(now));
        }
        state.end = Some(reason);
        drop(state);
        self.announce(now, reason);
        Err(reason)
    }

    pub(crate) fn lost(&self, reason: LossReason) -> Lost {
        let token = match self.claim.mode {
            Mode::Exclusive | Mode::Shared => Some(self.claim.token),
            Mode::Permits { .. } => None,
        };
        Lost::new(self.claim.key.clone(), token, reason)
    }

    /// Whether nobody has taken the release over. Where somebody has, the lease has ended.
    pub(super) fn is_release_pending(&self) -> bool {
        self.release_owed.load(Ordering::Acquire)
    }

    /// True once: who gets it sends the release.
    pub(super) fn claim_release(&self) -> bool {
        self.release_owed.swap(false, Ordering::AcqRel)
    }

    fn announce(&self, now: LeaseInstant, reason: LossReason) {
        // Those who wait for it come first: a subscriber may take its time.
        if let Some(ended) = self.ended.get() {
            ended.cancel();
        }
        events::ended(&self.claim, reason, now.since(self.since));
    }
}

fn address(backend: &Arc<dyn Backend>) -> usize {
    Arc::as_ptr(backend).cast::<()>().addr()
}

/// The part of a lease that a holder may rely on: clocks that differ by a hundredth, and a server that
/// rounds, must not make it believe in a lease that is over (the drift of antirez's Redlock).
fn without_drift(lease: Duration) -> Duration {
    lease.saturating_sub(lease / 100 + Duration::from_millis(2))
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::backend::{Attempt, InProcess};
    use crate::clock::simulate_suspension;
    use crate::{FencingToken, Key};

    const TTL: Duration = Duration::from_secs(10);
    const USABLE: Duration = Duration::from_millis(9_898);

    fn lease(options: &LockOptions) -> Lease {
        let attempt = Attempt::new(Key::new("", "k").unwrap(), TTL, false);
        let claim = attempt.claim(FencingToken::try_from(7).unwrap());
        let runtime = Runtime::current().unwrap();
        Lease::new(
            &(Arc::new(InProcess::new()) as Arc<dyn Backend>),
            claim,
            TTL,
            LeaseInstant::now(),
            options,
            runtime,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_before_the_server_ends_it() {
        let lease = lease(&LockOptions::default());
        assert_eq!(lease.validity(), Ok(USABLE));
        advance(USABLE).await;
        assert_eq!(lease.validity(), Err(LossReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspended_machine_does_not_keep_its_lease() {
        let lease = lease(&LockOptions::default());
        simulate_suspension(TTL);
        assert_eq!(lease.validity(), Err(LossReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_ended_stays_ended_and_keeps_its_first_reason() {
        let lease = lease(&LockOptions::default());
        advance(TTL).await;
        assert_eq!(lease.end(LossReason::Gone), Err(LossReason::Expired));
        assert_eq!(
            lease.extend(LeaseInstant::now(), TTL),
            Err(LossReason::Expired)
        );
        assert_eq!(lease.validity(), Err(LossReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn renewals_do_not_reach_beyond_max_hold() {
        let options = LockOptions {
            max_hold: Some(Duration::from_secs(12)),
            ..LockOptions::default()
        };
        let lease = lease(&options);
        advance(Duration::from_secs(9)).await;
        lease.extend(LeaseInstant::now(), TTL).unwrap();
        assert_eq!(lease.validity(), Ok(Duration::from_secs(3)));
        advance(Duration::from_secs(3)).await;
        assert_eq!(lease.validity(), Err(LossReason::MaxHold));
    }
}
