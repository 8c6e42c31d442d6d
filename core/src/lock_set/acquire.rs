//! How several locks are acquired without waiting in a circle.
//!
//! # Implementation details
//!
//! All are asked for at once. Of what is granted, the part up to the first lock that is missing is kept, and the
//! rest given back, before the missing one is waited for. So whoever waits holds only locks with smaller names than
//! the one that it waits for, and the waiting one with the largest name waits for nobody who waits.

use std::sync::Arc;

use futures_util::future::join_all;

use super::first_end::FirstEnd;
use crate::clock::LeaseInstant;
use crate::engine::{AcquireRequest, BusyPolicy, Engine, Hold, renew_all};
use crate::options::LockOptions;
use crate::{AcquireError, Key, RenewError};

/// `keys` are sorted, and each is there once.
pub(super) async fn acquire_all(
    engine: &Arc<Engine>,
    keys: Vec<Key>,
    options: &LockOptions,
    patience: BusyPolicy,
) -> Result<Vec<Hold>, AcquireError> {
    let mut collection = MultiAcquire::new(engine, keys, options);
    match collection.complete(patience).await {
        Ok(()) => Ok(collection.held),
        Err(error) => {
            // Whoever is told that it has nothing has nothing.
            release_all(collection.held).await;
            Err(error)
        }
    }
}

/// One caller's acquire, in all its rounds.
struct MultiAcquire<'a> {
    engine: &'a Arc<Engine>,
    wanted: Vec<AcquireRequest>,
    /// The first of those that are wanted, without a gap.
    held: Vec<Hold>,
    asked_for: &'a LockOptions,
    /// What is held while others are waited for is renewed, and its hold has not begun.
    meanwhile: LockOptions,
    started: LeaseInstant,
    give_up: Option<LeaseInstant>,
    /// Whether a lock may have been held for longer than a request takes.
    has_waited: bool,
}

impl<'a> MultiAcquire<'a> {
    fn new(engine: &'a Arc<Engine>, keys: Vec<Key>, options: &'a LockOptions) -> Self {
        let started = LeaseInstant::now();
        Self {
            engine,
            wanted: keys.into_iter().map(AcquireRequest::exclusively).collect(),
            held: Vec::new(),
            asked_for: options,
            meanwhile: LockOptions {
                max_hold: None,
                renewal: true,
                ..*options
            },
            started,
            give_up: options.wait.map(|wait| started.after(wait)),
            has_waited: false,
        }
    }

    async fn complete(&mut self, patience: BusyPolicy) -> Result<(), AcquireError> {
        loop {
            match self.try_missing().await {
                Ok(()) if self.settle().await? => return Ok(()),
                Ok(()) => self.start_again().await,
                Err(error) if patience == BusyPolicy::None || !error.is_temporary() => {
                    return Err(self.over_all(error));
                }
                Err(_missing) => self.wait_for_next().await?,
            }
        }
    }

    /// Asks for all that is missing, and keeps what has no gap before it; or says why there is a gap.
    async fn try_missing(&mut self) -> Result<(), AcquireError> {
        let missing = &self.wanted[self.held.len()..];
        let asked = missing.iter().map(|wanted| {
            self.engine
                .acquire(wanted, &self.meanwhile, BusyPolicy::None)
        });
        let (mut beyond, mut gap) = (Vec::new(), Ok(()));
        for answer in join_all(asked).await {
            match (answer, &gap) {
                (Ok(hold), Ok(())) => self.held.push(hold),
                (Ok(hold), Err(_)) => beyond.push(hold),
                (Err(error), Ok(())) => gap = Err(error),
                // What will never be granted is told at once, and not after a wait for another.
                (Err(error), Err(first)) if first.is_temporary() && !error.is_temporary() => {
                    gap = Err(error);
                }
                (Err(_), Err(_)) => {}
            }
        }
        release_all(beyond).await;
        gap
    }

    /// Waits for the first lock that is missing, for as long as those before it are held.
    async fn wait_for_next(&mut self) -> Result<(), AcquireError> {
        let wanted = &self.wanted[self.held.len()];
        let wait = self.give_up.map(LeaseInstant::remaining);
        if wait.is_some_and(|wait| wait.is_zero()) {
            return Err(self.timed_out(&wanted.key));
        }
        self.has_waited = true;
        let options = LockOptions {
            wait,
            ..self.meanwhile
        };
        let granted = tokio::select! {
            biased;
            granted = self.engine.acquire(wanted, &options, BusyPolicy::Wait) => Some(granted),
            _lost = FirstEnd::of(self.held.iter().map(|hold| &hold.lease)) => None,
        };
        match granted {
            Some(Ok(hold)) => self.held.push(hold),
            Some(Err(error)) => return Err(self.over_all(error)),
            None => self.start_again().await,
        }
        Ok(())
    }

    async fn start_again(&mut self) {
        release_all(std::mem::take(&mut self.held)).await;
    }

    /// Begins the hold of the whole, or says that a part of it is lost already.
    async fn settle(&mut self) -> Result<bool, AcquireError> {
        if self.has_waited && !self.asked_for.renewal {
            // Each lease is to be as long as that of the last one.
            match renew_all(self.engine, &self.held, self.give_up).await {
                Ok(()) => {}
                Err(RenewError::Lost(_)) => return Ok(false),
                Err(RenewError::Backend { key, source }) => {
                    let applied = source.applied();
                    return Err(AcquireError::Backend {
                        key,
                        applied,
                        source,
                    });
                }
            }
        }
        let begin = self.held.iter().map(|hold| hold.lease.since()).max();
        for hold in &self.held {
            hold.settle(self.asked_for, begin.unwrap_or(self.started));
        }
        let is_held = |hold: &Hold| hold.lease.validity().is_ok();
        Ok(!self.has_waited || self.held.iter().all(is_held))
    }

    /// The same error, with the time that was waited for all.
    fn over_all(&self, error: AcquireError) -> AcquireError {
        match error {
            AcquireError::TimedOut { key, .. } => self.timed_out(&key),
            other => other,
        }
    }

    fn timed_out(&self, key: &Key) -> AcquireError {
        AcquireError::TimedOut {
            key: key.clone(),
            waited: LeaseInstant::now().since(self.started),
        }
    }
}

/// Waits until others can have them, as their own next try is not to meet them. What is not confirmed goes on in the
/// background, and was reported.
async fn release_all(holds: Vec<Hold>) {
    join_all(holds.iter().map(Hold::release)).await;
}
