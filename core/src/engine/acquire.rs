use std::sync::Arc;

use super::armed::Armed;
use super::call::{Backoff, caught};
use super::release::ReleaseDebt;
use super::{Engine, Lease};
use crate::backend::{Attempt, AttemptAnswer, BackendError};
use crate::clock::{self, Moment};
use crate::options::LockOptions;
use crate::runtime::Runtime;
use crate::{AcquireError, Key, observe};

/// What an acquire does when the lock is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It has timed out.
    None,
    /// It waits as long as the options say.
    Wait,
}

impl Engine {
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        key: &Key,
        options: &LockOptions,
        patience: Patience,
    ) -> Result<Arc<Lease>, AcquireError> {
        let runtime = Runtime::current().ok_or(AcquireError::NoRuntime)?;
        let mut search = Search::new(self, options, patience);
        loop {
            let attempt = Attempt::new(key.clone(), options.ttl, patience == Patience::Wait);
            let mut armed = Armed::new(self, attempt, runtime.clone());
            // Without a lease, the grant's answer came when it was over: its id is spent.
            if let Some(lease) = search.pursue(&mut armed).await? {
                return Ok(lease);
            }
        }
    }
}

/// One caller's acquire, over all its attempts.
struct Search<'a> {
    engine: &'a Arc<Engine>,
    options: &'a LockOptions,
    patience: Patience,
    started: Moment,
    give_up: Option<Moment>,
    failing_since: Option<Moment>,
    backoff: Backoff,
    poll: Backoff,
}

impl<'a> Search<'a> {
    fn new(engine: &'a Arc<Engine>, options: &'a LockOptions, patience: Patience) -> Self {
        let started = Moment::now();
        Self {
            engine,
            options,
            patience,
            started,
            give_up: options.wait.map(|wait| started.after(wait)),
            failing_since: None,
            backoff: Backoff::default(),
            poll: Backoff::default(),
        }
    }

    /// Repeats one request under one id until it is granted or there is no point.
    async fn pursue(&mut self, armed: &mut Armed) -> Result<Option<Arc<Lease>>, AcquireError> {
        loop {
            if self.engine.is_closed() {
                return Err(closed(armed));
            }
            let sent = Moment::now();
            match armed
                .ask(self.engine.limits.command.min(self.options.ttl))
                .await
            {
                Ok(AttemptAnswer::Granted { token, lease }) => {
                    if !Lease::deadline(sent, lease).has_passed() {
                        let claim = armed.attempt.claim(token);
                        let runtime = armed.runtime.clone();
                        let lease = Lease::new(claim, lease, sent, self.options, runtime);
                        return self.enter(armed, Arc::new(lease)).map(Some);
                    }
                    let late = BackendError::unknown("its grant came when the lease was over");
                    self.failed(armed, sent, late).await?;
                    return Ok(None);
                }
                Ok(AttemptAnswer::Busy { .. }) if self.patience == Patience::None => {
                    return Err(self.timed_out(armed));
                }
                Ok(AttemptAnswer::Busy { retry_after }) => {
                    self.failing_since = None;
                    self.backoff = Backoff::default();
                    self.wait(armed, sent.after(retry_after)).await?;
                }
                Err(error) => self.failed(armed, sent, error).await?,
            }
        }
    }

    fn enter(&self, armed: &mut Armed, lease: Arc<Lease>) -> Result<Arc<Lease>, AcquireError> {
        self.engine.watch(&lease);
        armed.hand_over();
        // Looked at after `watch`: either this sees the shutdown, or the shutdown sees the lease.
        if self.engine.is_closed() {
            drop(ReleaseDebt::take(self.engine, &lease));
            return Err(closed(armed));
        }
        Ok(lease)
    }

    /// Waits for a hint that the lock may be ours, and no longer than until `recheck`.
    async fn wait(&mut self, armed: &Armed, recheck: Moment) -> Result<(), AcquireError> {
        let until = self.give_up.map_or(recheck, |give_up| give_up.min(recheck));
        let engine = self.engine;
        let hint = async {
            match caught(engine.backend.wait(&armed.attempt)).await {
                Ok(()) => self.poll = Backoff::default(),
                Err(error) => {
                    observe::wait_failed(&armed.attempt, &error);
                    self.poll.pause().await;
                }
            }
        };
        tokio::select! {
            () = hint => Ok(()),
            () = engine.closing.cancelled() => Err(closed(armed)),
            () = clock::sleep_until(until) => match self.give_up {
                Some(give_up) if give_up.has_passed() => Err(self.timed_out(armed)),
                _ => Ok(()),
            },
        }
    }

    fn timed_out(&self, armed: &Armed) -> AcquireError {
        AcquireError::TimedOut {
            key: armed.attempt.key.clone(),
            waited: Moment::now().since(self.started),
        }
    }

    /// Pauses before another try, or says that there is none: an outage is not waited out for ever.
    async fn failed(
        &mut self,
        armed: &Armed,
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

fn closed(armed: &Armed) -> AcquireError {
    AcquireError::Closed {
        key: armed.attempt.key.clone(),
    }
}
