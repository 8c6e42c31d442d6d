//! A lease as this process knows it: its deadline, and its end.

pub(crate) mod lease_end;

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::backend_call_timeout::bounded;
use crate::backend::{Backend, BackendError, Claim};
use crate::clock::LeaseInstant;
use crate::options::AcquireOptions;
use crate::runtime::Runtime;
use crate::{EndReason, Ended, Lost, events};

/// A lease as this process knows it: shared by guard, handles and watchdog.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) claim: Claim,
    pub(crate) runtime: Runtime,
    /// The address of the backend. An active held lock keeps its backend alive, so no other backend can have this
    /// address.
    backend: usize,
    /// Where the user's code acquired the lock.
    pub(super) place: Option<&'static Location<'static>>,
    renewal: AtomicBool,
    /// Wakes the tasks that wait for the end of the lease, if any. The token is cancelled after `state` was changed;
    /// only `state` decides whether the lease has ended.
    ended: OnceLock<CancellationToken>,
    /// Locked while a command that keeps or changes this claim is in progress. The mutex is created on first use,
    /// because most locks are released before another command.
    command: OnceLock<tokio::sync::Mutex<()>>,
    since: LeaseInstant,
    state: Mutex<LeaseState>,
    release_owed: AtomicBool,
    /// Whether a shutdown leaves the release to the holder, which first drops its work.
    is_left_to_holder: AtomicBool,
}

#[derive(Debug)]
struct LeaseState {
    /// The duration of the last grant, which may be shorter than requested.
    granted: Duration,
    deadline: LeaseInstant,
    /// When `max_hold` ends.
    last_moment: Option<LeaseInstant>,
    /// Until when the lock stays taken, even if it is released before.
    taken_until: Option<LeaseInstant>,
    end: Option<EndReason>,
}

impl Lease {
    /// Creates a lease. `sent` is when the granted request was sent, so that a slow reply does not lengthen the lease.
    pub(super) fn new(
        backend: &Arc<dyn Backend>,
        claim: Claim,
        granted: Duration,
        sent: LeaseInstant,
        options: &AcquireOptions,
        runtime: Runtime,
    ) -> Self {
        let state = LeaseState {
            granted,
            deadline: Self::deadline(sent, granted),
            last_moment: options.max_hold.map(|d| sent.after(d)),
            taken_until: taken_until(options),
            end: None,
        };
        let backend = address(backend);
        let (place, renewal) = (options.place, options.renewal);
        Self::with(claim, runtime, backend, place, renewal, sent, state)
    }

    /// Returns the lease of a claim that replaces this one, granted by a request sent at `sent`.
    pub(super) fn continued(&self, claim: Claim, granted: Duration, sent: LeaseInstant) -> Self {
        let state = LeaseState {
            granted,
            deadline: Self::deadline(sent, granted),
            end: None,
            ..*self.state.lock()
        };
        let (runtime, renewal) = (self.runtime.clone(), self.is_renewed());
        let (backend, place) = (self.backend, self.place);
        Self::with(claim, runtime, backend, place, renewal, sent, state)
    }

    fn with(
        claim: Claim,
        runtime: Runtime,
        backend: usize,
        place: Option<&'static Location<'static>>,
        renewal: bool,
        since: LeaseInstant,
        state: LeaseState,
    ) -> Self {
        events::held(&claim);
        Self {
            claim,
            runtime,
            backend,
            place,
            renewal: AtomicBool::new(renewal),
            ended: OnceLock::new(),
            command: OnceLock::new(),
            since,
            state: Mutex::new(state),
            release_owed: AtomicBool::new(true),
            is_left_to_holder: AtomicBool::new(false),
        }
    }

    /// Returns the deadline of a lease that was granted for a request sent at `sent`.
    pub(super) fn deadline(sent: LeaseInstant, granted: Duration) -> LeaseInstant {
        sent.after(without_drift(granted))
    }

    /// Returns whether the lease is valid, and was acquired on `backend`.
    pub(crate) fn is_valid_on(&self, backend: &Arc<dyn Backend>) -> bool {
        self.backend == address(backend) && self.validity().is_ok()
    }

    /// Returns when the granted request was sent.
    pub(crate) fn since(&self) -> LeaseInstant {
        self.since
    }

    /// Starts the hold time at `begin`: before that, the lease was part of an incomplete set.
    pub(super) fn settle(&self, options: &AcquireOptions, begin: LeaseInstant) {
        self.renewal.store(options.renewal, Ordering::Release);
        let mut state = self.state.lock();
        state.last_moment = options.max_hold.map(|d| begin.after(d));
        state.taken_until = taken_until(options);
    }

    /// Returns how long the lock must stay taken after `now`, or `None` if it may be released. The duration is a
    /// millisecond longer, because servers round down to milliseconds.
    pub(super) fn taken_for(&self, now: LeaseInstant) -> Option<Duration> {
        let left = self.state.lock().taken_until?.since(now);
        (!left.is_zero()).then_some(left + Duration::from_millis(1))
    }

    /// Returns whether the watchdog renews the lease.
    pub(super) fn is_renewed(&self) -> bool {
        self.renewal.load(Ordering::Acquire)
    }

    /// Returns the token that is cancelled when the lease ends. The caller checks the lease again before waiting,
    /// because an earlier end of the lease does not cancel the token.
    pub(super) fn ending(&self) -> &CancellationToken {
        self.ended.get_or_init(CancellationToken::new)
    }

    /// Returns the mutex for commands that keep the lease. A caller that has locked the mutex checks the lease, and
    /// sends nothing if the lease has ended. So a renewal is over before the release is sent.
    pub(super) fn command(&self) -> &tokio::sync::Mutex<()> {
        self.command.get_or_init(tokio::sync::Mutex::default)
    }

    /// Returns the same mutex for a caller that has ended the lease, or `None` if no command has used the mutex. A
    /// later command finds that the lease has ended.
    pub(super) fn last_command(&self) -> Option<&tokio::sync::Mutex<()>> {
        self.command.get()
    }

    /// Locks the mutex for commands. Returns an error after `limit`, because the runtime of the task that has locked
    /// the mutex may not be driven.
    pub(super) async fn turn(
        &self,
        limit: Duration,
    ) -> Result<tokio::sync::MutexGuard<'_, ()>, BackendError> {
        bounded(limit, async { Ok(self.command().lock().await) }).await
    }

    pub(super) fn deadline_has_passed(&self) -> bool {
        self.state.lock().deadline.has_passed()
    }

    /// Returns how long the lock is still held, or the reason why it is not held. Detects the deadline even if the
    /// watchdog has not.
    pub(crate) fn validity(&self) -> Result<Duration, EndReason> {
        self.change_if_valid(LeaseInstant::now, |_state| ())
    }

    /// Ends the lease, unless the lease has already ended. A deadline that has passed takes precedence over `reason`.
    pub(crate) fn end(&self, reason: EndReason) -> Result<(), EndReason> {
        self.end_at(LeaseInstant::now(), reason)
    }

    /// Works like [`end`](Self::end), at the time `now`, which the caller has just read.
    pub(super) fn end_at(&self, now: LeaseInstant, reason: EndReason) -> Result<(), EndReason> {
        self.change_if_valid(|| now, |state| state.end = Some(reason))?;
        self.announce(now, reason);
        Ok(())
    }

    /// Applies a confirmed renewal. Has no effect after the end of the lease.
    pub(super) fn extend(&self, sent: LeaseInstant, granted: Duration) -> Result<(), EndReason> {
        self.change_if_valid(LeaseInstant::now, |state| {
            state.granted = granted;
            state.deadline = Self::deadline(sent, granted);
        })?;
        Ok(())
    }

    /// Returns the length of the last grant, and the remaining time of the lease. Both are zero if the lease has ended.
    pub(super) fn remaining_validity(&self, now: LeaseInstant) -> (Duration, Duration) {
        let mut length = Duration::ZERO;
        let left = self.change_if_valid(|| now, |state| length = state.granted);
        (length, left.unwrap_or_default())
    }

    /// Returns the length of the last grant.
    pub(super) fn length(&self) -> Duration {
        self.state.lock().granted
    }

    /// Changes the state if the lease has not ended, in one step.
    fn change_if_valid(
        &self,
        now: impl FnOnce() -> LeaseInstant,
        change: impl FnOnce(&mut LeaseState),
    ) -> Result<Duration, EndReason> {
        let mut state = self.state.lock();
        if let Some(reason) = state.end {
            return Err(reason);
        }
        let now = now();
        let (reason, end) = match state.last_moment {
            Some(last) if last <= state.deadline => (EndReason::MaxHold, last),
            _ => (EndReason::Expired, state.deadline),
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

    pub(crate) fn lost(&self, reason: EndReason) -> Lost {
        self.ended(reason).into()
    }

    pub(crate) fn ended(&self, reason: EndReason) -> Ended {
        let token = self.claim.mode.has_token().then_some(self.claim.token);
        Ended::new(self.claim.key.clone(), token, reason)
    }

    /// Returns whether no caller has claimed the release. Once a caller has claimed it, the lease has ended.
    pub(super) fn is_release_pending(&self) -> bool {
        self.release_owed.load(Ordering::Acquire)
    }

    /// Claims the release. Returns true for the first caller only, which must send the release.
    pub(super) fn claim_release(&self) -> bool {
        self.release_owed.swap(false, Ordering::AcqRel)
    }

    /// Has a shutdown leave the release to the holder. The shutdown must wait for the holder: see
    /// [`Engine::in_progress`](super::Engine::in_progress). The holder then checks the lease before it begins its work,
    /// because a shutdown may have ended and released the lease before this call.
    pub(crate) fn leave_release_to_holder(&self) {
        self.is_left_to_holder.store(true, Ordering::Release);
    }

    pub(super) fn is_left_to_holder(&self) -> bool {
        self.is_left_to_holder.load(Ordering::Acquire)
    }

    fn announce(&self, now: LeaseInstant, reason: EndReason) {
        // Notify the waiters before emitting the event, because a subscriber may be slow.
        if let Some(ended) = self.ended.get() {
            ended.cancel();
        }
        events::ended(&self.claim, reason, now.since(self.since));
    }
}

/// Returns the end of `hold_at_least` for a grant whose reply has just arrived. The backend has granted the lock before,
/// so the lock stays taken for long enough.
fn taken_until(options: &AcquireOptions) -> Option<LeaseInstant> {
    options.hold_at_least.map(|d| LeaseInstant::now().after(d))
}

fn address(backend: &Arc<dyn Backend>) -> usize {
    Arc::as_ptr(backend).cast::<()>().addr()
}

/// Returns the part of a lease that a holder may rely on. The rest is a margin for clocks that differ by 1 %, and for
/// servers that round (the drift of antirez's Redlock).
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

    fn lease(options: &AcquireOptions) -> Lease {
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
        let lease = lease(&AcquireOptions::default());
        assert_eq!(lease.validity(), Ok(USABLE));
        advance(USABLE).await;
        assert_eq!(lease.validity(), Err(EndReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspended_machine_does_not_keep_its_lease() {
        let lease = lease(&AcquireOptions::default());
        simulate_suspension(TTL);
        assert_eq!(lease.validity(), Err(EndReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ended_lease_stays_ended_with_its_first_reason() {
        let lease = lease(&AcquireOptions::default());
        advance(TTL).await;
        assert_eq!(lease.end(EndReason::Gone), Err(EndReason::Expired));
        assert_eq!(
            lease.extend(LeaseInstant::now(), TTL),
            Err(EndReason::Expired)
        );
        assert_eq!(lease.validity(), Err(EndReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_does_not_extend_a_lease_beyond_max_hold() {
        let options = AcquireOptions {
            max_hold: Some(Duration::from_secs(12)),
            ..AcquireOptions::default()
        };
        let lease = lease(&options);
        advance(Duration::from_secs(9)).await;
        lease.extend(LeaseInstant::now(), TTL).unwrap();
        assert_eq!(lease.validity(), Ok(Duration::from_secs(3)));
        advance(Duration::from_secs(3)).await;
        assert_eq!(lease.validity(), Err(EndReason::MaxHold));
    }
}
