use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;

use super::armed::Armed;
use super::call::{Backoff, caught};
use super::{Engine, Hold, Lease, Wanted};
use crate::AcquireError;
use crate::backend::{AttemptAnswer, BackendError, Refusal};
use crate::clock::{self, Moment};
use crate::observe::{self, Acquisition};
use crate::options::LockOptions;
use crate::runtime::Runtime;

/// A wait that ends sooner has hardly been one.
const PROMPT: Duration = Duration::from_millis(1);

/// How many wake-ups in a row may come at once before they are taken for noise. Locks that are handed on
/// quickly do wake like this.
const HASTY_AT_MOST: u32 = 16;

/// What an acquire does when the lock is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It has timed out.
    None,
    /// It waits as long as the options say.
    Wait,
}

impl Patience {
    /// Who does not wait takes no place in the queue, which would have to be cleaned up.
    pub(crate) fn of(options: &LockOptions, may_wait: bool) -> Self {
        match options.wait {
            Some(wait) if wait.is_zero() => Self::None,
            _ if may_wait => Self::Wait,
            _ => Self::None,
        }
    }
}

impl Engine {
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        wanted: &Wanted,
        options: &LockOptions,
        patience: Patience,
    ) -> Result<Hold, AcquireError> {
        let started = Moment::now();
        let acquisition = Acquisition::start(&wanted.key, options, started);
        let search = self.search(wanted, options, patience, started);
        let result = search.instrument(acquisition.span()).await;
        acquisition.finish(result.as_ref().map(|hold| &hold.lease.claim));
        result
    }

    async fn search(
        self: &Arc<Self>,
        wanted: &Wanted,
        options: &LockOptions,
        patience: Patience,
        started: Moment,
    ) -> Result<Hold, AcquireError> {
        let runtime = Runtime::current().ok_or(AcquireError::NoRuntime)?;
        let mut search = Search::new(self, options, patience, started);
        loop {
            let (owner, queue) = (self.backend.owner_id(), patience == Patience::Wait);
            let attempt = wanted.attempt(owner, options, queue);
            let mut armed = Armed::new(self, attempt, &runtime);
            if let Pursuit::Granted(hold) = search.pursue(&mut armed).await? {
                return Ok(hold);
            }
        }
    }
}

/// How the pursuit of one attempt ended, if not in an error.
enum Pursuit {
    Granted(Hold),
    /// The grant's answer came when its lease was over, and its id is spent.
    Outlived,
}

/// One caller's acquire, over all its attempts.
struct Search<'a> {
    engine: &'a Arc<Engine>,
    options: &'a LockOptions,
    patience: Patience,
    started: Moment,
    /// When the first request is sent; it is not read from the clock twice.
    first: Option<Moment>,
    give_up: Option<Moment>,
    failing_since: Option<Moment>,
    backoff: Backoff,
    poll: Backoff,
    /// Wake-ups in a row that came at once and meant nothing.
    hasty: u32,
}

impl<'a> Search<'a> {
    fn new(
        engine: &'a Arc<Engine>,
        options: &'a LockOptions,
        patience: Patience,
        started: Moment,
    ) -> Self {
        Self {
            engine,
            options,
            patience,
            started,
            first: Some(started),
            give_up: options.wait.map(|wait| started.after(wait)),
            failing_since: None,
            backoff: Backoff::default(),
            poll: Backoff::default(),
            hasty: 0,
        }
    }

    /// Repeats one request under one id until it is granted or there is no point.
    async fn pursue(&mut self, armed: &mut Armed<'_>) -> Result<Pursuit, AcquireError> {
        loop {
            if self.engine.is_closed() {
                return Err(closed(armed));
            }
            let sent = self.first.take().unwrap_or_else(Moment::now);
            let limit = self.engine.limits.command.min(self.options.ttl);
            let (answer, answered) = armed.ask(sent, limit).await;
            match answer {
                Ok(AttemptAnswer::Granted { token, lease }) => {
                    let now = answered.unwrap_or_else(Moment::now);
                    if now < Lease::deadline(sent, lease) {
                        let claim = armed.attempt.claim(token);
                        let runtime = armed.runtime.clone();
                        let backend = &self.engine.backend;
                        let lease = Lease::new(backend, claim, lease, sent, self.options, runtime);
                        return self.enter(armed, lease, now).map(Pursuit::Granted);
                    }
                    let late = BackendError::unknown("its grant came when the lease was over");
                    Box::pin(self.failed(armed, sent, late)).await?;
                    return Ok(Pursuit::Outlived);
                }
                Ok(AttemptAnswer::Busy { .. }) if self.patience == Patience::None => {
                    return Err(self.timed_out(armed));
                }
                Ok(AttemptAnswer::Busy { retry_after }) => {
                    self.failing_since = None;
                    self.backoff = Backoff::default();
                    // Boxed, as is all that a free lock does not need: its future is moved about.
                    Box::pin(self.wait(armed, sent.after(retry_after.max(PROMPT)))).await?;
                }
                Ok(AttemptAnswer::Refused(refusal)) => return Err(refused(armed, refusal)),
                Err(error) => Box::pin(self.failed(armed, sent, error)).await?,
            }
        }
    }

    fn enter(
        &self,
        armed: &mut Armed<'_>,
        lease: Lease,
        now: Moment,
    ) -> Result<Hold, AcquireError> {
        let hold = Hold {
            engine: Arc::clone(self.engine),
            lease: Arc::new(lease),
        };
        armed.hand_over();
        self.engine.watch(&hold.lease, now);
        // Looked at after `watch`: either this sees the shutdown, or the shutdown sees the lease.
        if self.engine.is_closed() {
            return Err(closed(armed));
        }
        Ok(hold)
    }

    /// Waits for a hint that the lock may be ours, and no longer than until `recheck`.
    async fn wait(&mut self, armed: &Armed<'_>, recheck: Moment) -> Result<(), AcquireError> {
        let until = self.give_up.map_or(recheck, |give_up| give_up.min(recheck));
        let engine = self.engine;
        let waiting_since = Moment::now();
        let hint = async {
            let hint = caught(async { engine.backend.wait(&armed.attempt).await }).await;
            if let Err(error) = &hint {
                observe::wait_failed(&armed.attempt, error);
            }
            let prompt = Moment::now().since(waiting_since) < PROMPT;
            self.hasty = if prompt { self.hasty + 1 } else { 0 };
            if hint.is_err() || self.hasty > HASTY_AT_MOST {
                // No wake-ups, or nothing but wake-ups: both are polling.
                self.poll.pause().await;
            } else {
                self.poll = Backoff::default();
            }
        };
        tokio::select! {
            () = hint => Ok(()),
            () = engine.closed() => Err(closed(armed)),
            () = clock::sleep_until(until) => match self.give_up {
                Some(give_up) if give_up.has_passed() => Err(self.timed_out(armed)),
                _ => Ok(()),
            },
        }
    }

    fn timed_out(&self, armed: &Armed<'_>) -> AcquireError {
        AcquireError::TimedOut {
            key: armed.attempt.key.clone(),
            waited: Moment::now().since(self.started),
        }
    }

    /// Pauses before another try, or says that there is none: an outage is not waited out for ever.
    async fn failed(
        &mut self,
        armed: &Armed<'_>,
        sent: Moment,
        error: BackendError,
    ) -> Result<(), AcquireError> {
        observe::attempt_failed(&armed.attempt, &error);
        let since = *self.failing_since.get_or_insert(sent);
        let end = match (self.patience, self.give_up) {
            (Patience::None, _) => sent,
            (Patience::Wait, Some(give_up)) => give_up.min(since.after(self.engine.limits.outage)),
            (Patience::Wait, None) => since.after(self.engine.limits.outage),
        };
        let paused = self.backoff.pause_after(error, end).await;
        paused.map_err(|source| AcquireError::Backend {
            key: armed.attempt.key.clone(),
            applied: armed.applied(),
            source,
        })
    }
}

fn refused(armed: &Armed<'_>, refusal: Refusal) -> AcquireError {
    let key = armed.attempt.key.clone();
    match refusal {
        Refusal::OtherKind => AcquireError::OtherKind { key },
        Refusal::HandoverSpent => AcquireError::HandoverSpent { key },
    }
}

fn closed(armed: &Armed<'_>) -> AcquireError {
    AcquireError::Closed {
        key: armed.attempt.key.clone(),
    }
}
