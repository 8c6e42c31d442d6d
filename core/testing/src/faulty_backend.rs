//! A backend that loses, delays and repeats requests according to a plan.

use std::fmt;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use leasehold_core::backend::support::clock::{LeaseInstant, sleep_until};
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Finding, HandoverSecret,
    Inspection, ListCursor, ListPage, Outcome, ReleaseAnswer, RenewAnswer, async_trait,
};
use leasehold_core::{AttemptId, Key};

/// A command of the manager to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Command {
    /// [`Backend::attempt`]
    Attempt,
    /// [`Backend::wait`]
    Wait,
    /// [`Backend::renew`]
    Renew,
    /// [`Backend::downgrade`]
    Downgrade,
    /// [`Backend::hand_over`]
    HandOver,
    /// [`Backend::release`]
    Release,
    /// [`Backend::record`]
    Record,
    /// [`Backend::forget`]
    Forget,
    /// [`Backend::cleanup`]
    Cleanup,
    /// [`Backend::inspect`]
    Inspect,
    /// [`Backend::force_release`] and [`Backend::force_release_holder`]
    ForceRelease,
    /// [`Backend::list`]
    List,
}

/// A command that is about to be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendCall {
    /// The command.
    pub command: Command,
    /// The owners that the command concerns: empty for an operator's commands, several for a batch of renewals.
    pub owners: Vec<AttemptId>,
    /// The keys that the command concerns: one per owner, or the key of an operator's command. Empty for a list.
    pub keys: Vec<Key>,
}

impl BackendCall {
    fn of_attempt(command: Command, attempt: &Attempt) -> Self {
        Self {
            command,
            owners: vec![attempt.owner],
            keys: vec![attempt.key.clone()],
        }
    }

    fn of_claims(command: Command, claims: &[Claim]) -> Self {
        Self {
            command,
            owners: claims.iter().map(|it| it.owner).collect(),
            keys: claims.iter().map(|it| it.key.clone()).collect(),
        }
    }

    fn of_claim(command: Command, claim: &Claim) -> Self {
        Self::of_claims(command, std::slice::from_ref(claim))
    }

    fn of_keys(command: Command, keys: Vec<Key>) -> Self {
        Self {
            command,
            owners: Vec::new(),
            keys,
        }
    }
}

/// A fault to inject into a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No fault.
    None,
    /// The request is late.
    SlowRequest(Duration),
    /// The reply is late.
    SlowAnswer(Duration),
    /// The backend refuses the request, and definitely does not apply it.
    Fail,
    /// The backend applies the request. The reply is lost, and the caller receives an error.
    LoseAnswer,
    /// The backend never applies the request, and does not reply.
    HangBefore,
    /// The backend applies the request, and does not reply.
    HangAfter,
    /// The backend panics before it applies the request, as if it had a bug.
    Panic,
}

type Plan = dyn FnMut(&BackendCall) -> Fault + Send;

/// A wrapper that injects faults between a backend and its caller, according to a plan.
///
/// The wrapper calls the plan before each call, so the plan sees all calls in order.
///
/// # Examples
///
/// The reply to the first attempt is lost. The manager retries with the same id, and receives the grant of the first
/// request:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
/// use leasehold::backend::InProcess;
/// use leasehold::conformance::{Command, Fault, Faulty};
///
/// let mut attempts = 0;
/// let locks = LockManager::new(Faulty::new(InProcess::new(), move |call| {
///     attempts += u32::from(call.command == Command::Attempt);
///     if attempts == 1 { Fault::LoseAnswer } else { Fault::None }
/// }));
/// let guard = locks.lock("order:42").acquire().await?;
/// assert!(guard.is_valid());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Faulty<B> {
    inner: B,
    plan: Arc<Mutex<Plan>>,
}

impl<B: Backend> Faulty<B> {
    /// Creates a wrapper that applies `plan` to `inner`.
    pub fn new(inner: B, plan: impl FnMut(&BackendCall) -> Fault + Send + 'static) -> Self {
        Self {
            inner,
            plan: Arc::new(Mutex::new(plan)),
        }
    }

    /// Delays requests and replies by up to 5 ms and refuses some requests. Does not lose any request or reply.
    pub fn sluggish(inner: B, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Self::new(inner, move |_call| {
            let delay = Duration::from_micros(random.u64(..5000));
            match random.u8(..10) {
                0 => Fault::Fail,
                1..=3 => Fault::SlowRequest(delay),
                4..=6 => Fault::SlowAnswer(delay),
                _ => Fault::None,
            }
        })
    }

    /// Works like [`sluggish`](Self::sluggish), and also loses one reply in five after the backend has applied the
    /// request.
    pub fn lossy(inner: B, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Self::new(inner, move |_call| {
            let delay = Duration::from_micros(random.u64(..5000));
            match random.u8(..10) {
                0 => Fault::Fail,
                1 | 2 => Fault::LoseAnswer,
                3 => Fault::SlowRequest(delay),
                4 => Fault::SlowAnswer(delay),
                _ => Fault::None,
            }
        })
    }

    #[allow(clippy::panic, reason = "a plan injects a panic to test its caller")]
    async fn call<T>(
        &self,
        call: BackendCall,
        carry_out: impl Future<Output = T>,
    ) -> Result<T, BackendError> {
        let fault = (self.plan.lock())(&call);
        match fault {
            Fault::None => Ok(carry_out.await),
            Fault::SlowRequest(delay) => {
                sleep_until(LeaseInstant::now().after(delay)).await;
                Ok(carry_out.await)
            }
            Fault::SlowAnswer(delay) => {
                let answer = carry_out.await;
                sleep_until(LeaseInstant::now().after(delay)).await;
                Ok(answer)
            }
            Fault::Fail => Err(BackendError::not_applied("an injected refusal")),
            Fault::LoseAnswer => {
                carry_out.await;
                Err(BackendError::unknown("an injected loss of the reply"))
            }
            Fault::HangBefore => pending().await,
            Fault::HangAfter => {
                carry_out.await;
                pending().await
            }
            Fault::Panic => panic!("an injected panic"),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend> Backend for Faulty<B> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn attempt_id(&self) -> AttemptId {
        self.inner.attempt_id()
    }

    fn server_of(&self, key: &Key) -> u64 {
        self.inner.server_of(key)
    }

    /// Returns `None`: faults are injected in [`attempt`](Self::attempt).
    fn attempt_now(
        &self,
        _attempt: &Attempt,
        _now: Instant,
    ) -> Option<Result<AttemptAnswer, BackendError>> {
        None
    }

    /// Returns `None`, like [`attempt_now`](Self::attempt_now).
    fn release_now(
        &self,
        _claim: &Claim,
        _now: Instant,
    ) -> Option<Result<ReleaseAnswer, BackendError>> {
        None
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let carry_out = self.inner.attempt(attempt);
        self.call(
            BackendCall::of_attempt(Command::Attempt, attempt),
            carry_out,
        )
        .await?
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let carry_out = self.inner.wait(attempt);
        self.call(BackendCall::of_attempt(Command::Wait, attempt), carry_out)
            .await?
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let carry_out = self.inner.renew(claims);
        match self
            .call(BackendCall::of_claims(Command::Renew, claims), carry_out)
            .await
        {
            Ok(answers) => answers,
            Err(error) => vec![Err(error)],
        }
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let carry_out = self.inner.downgrade(claim);
        self.call(BackendCall::of_claim(Command::Downgrade, claim), carry_out)
            .await?
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        let carry_out = self.inner.hand_over(claim, secret);
        self.call(BackendCall::of_claim(Command::HandOver, claim), carry_out)
            .await?
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        let carry_out = self.inner.release(claim);
        self.call(BackendCall::of_claim(Command::Release, claim), carry_out)
            .await?
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        let carry_out = self.inner.record(claim, outcome, keep);
        self.call(BackendCall::of_claim(Command::Record, claim), carry_out)
            .await?
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        let carry_out = self.inner.forget(key);
        self.call(
            BackendCall::of_keys(Command::Forget, vec![key.clone()]),
            carry_out,
        )
        .await?
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let carry_out = self.inner.release_after(claim);
        self.call(BackendCall::of_claim(Command::Release, claim), carry_out)
            .await?
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let carry_out = self.inner.cleanup(attempt);
        self.call(
            BackendCall::of_attempt(Command::Cleanup, attempt),
            carry_out,
        )
        .await?
    }

    /// Returns `None`, like [`attempt_now`](Self::attempt_now).
    fn cleanup_now(&self, _attempt: &Attempt, _now: Instant) -> Option<Result<(), BackendError>> {
        None
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        let carry_out = self.inner.inspect(key);
        self.call(
            BackendCall::of_keys(Command::Inspect, vec![key.clone()]),
            carry_out,
        )
        .await?
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let carry_out = self.inner.force_release(key);
        self.call(
            BackendCall::of_keys(Command::ForceRelease, vec![key.clone()]),
            carry_out,
        )
        .await?
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        let carry_out = self.inner.force_release_holder(key, id);
        self.call(
            BackendCall::of_keys(Command::ForceRelease, vec![key.clone()]),
            carry_out,
        )
        .await?
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let carry_out = self.inner.list(prefix, cursor);
        self.call(BackendCall::of_keys(Command::List, Vec::new()), carry_out)
            .await?
    }

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        self.inner.examine().await
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.inner.interrupted(seen).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

impl<B: fmt::Debug> fmt::Debug for Faulty<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
