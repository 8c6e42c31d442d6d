//! Acquires several locks without deadlock.
//!
//! # Implementation details
//!
//! The acquire requests all locks concurrently. If one lock is busy, the acquire keeps the locks before that lock,
//! releases the rest, and waits for the busy lock. So a waiter holds only locks with smaller names than the lock it
//! waits for, and waiters cannot form a cycle.

use std::panic::Location;
use std::sync::Arc;

use futures_util::future::join_all;

use super::first_lease_end::FirstEnd;
use crate::clock::LeaseInstant;
use crate::engine::{AcquireRequest, BusyPolicy, Engine, Hold, renew_all};
use crate::options::AcquireOptions;
use crate::{Error, Key};

/// Acquires all locks on `keys`, which are sorted and unique.
pub(super) async fn acquire_all(
    engine: &Arc<Engine>,
    keys: Vec<Key>,
    options: &AcquireOptions,
    busy_policy: BusyPolicy,
) -> Result<Vec<Hold>, Error> {
    let mut collection = MultiAcquire::new(engine, keys, options);
    match collection.complete(busy_policy).await {
        Ok(()) => Ok(collection.held),
        Err(error) => {
            // A caller that receives an error must not hold any lock.
            release_all(collection.held).await;
            Err(error)
        }
    }
}

/// The state of one acquire over all its rounds.
struct MultiAcquire<'a> {
    engine: &'a Arc<Engine>,
    wanted: Vec<AcquireRequest>,
    /// The held locks: a prefix of `wanted`, without a gap.
    held: Vec<Hold>,
    asked_for: &'a AcquireOptions,
    /// The options of the locks that are held while the acquire waits for other locks. The watchdog renews these locks,
    /// and their hold time has not begun.
    meanwhile: AcquireOptions,
    started: LeaseInstant,
    give_up: Option<LeaseInstant>,
    /// Whether a lock may have been held for longer than a request takes.
    has_waited: bool,
}

impl<'a> MultiAcquire<'a> {
    fn new(engine: &'a Arc<Engine>, keys: Vec<Key>, options: &'a AcquireOptions) -> Self {
        let started = LeaseInstant::now();
        Self {
            engine,
            wanted: keys.into_iter().map(AcquireRequest::exclusively).collect(),
            held: Vec::new(),
            asked_for: options,
            meanwhile: AcquireOptions {
                ttl: options.lease_ttl(),
                max_hold: None,
                hold_at_least: None,
                renewal: true,
                ..*options
            },
            started,
            give_up: options.wait.map(|wait| started.after(wait)),
            has_waited: false,
        }
    }

    async fn complete(&mut self, busy_policy: BusyPolicy) -> Result<(), Error> {
        loop {
            match self.try_missing().await {
                Ok(()) if self.settle().await? => return Ok(()),
                Ok(()) => self.start_again().await,
                Err(error) if busy_policy == BusyPolicy::None || !error.is_temporary() => {
                    return Err(self.over_all(error));
                }
                Err(_missing) => self.wait_for_next().await?,
            }
        }
    }

    /// Requests all missing locks, and keeps the granted locks before the first gap. Returns the error of that gap, if
    /// any.
    async fn try_missing(&mut self) -> Result<(), Error> {
        let missing = &self.wanted[self.held.len()..];
        let asked = missing.iter().map(|wanted| {
            self.engine
                .acquire(wanted, &self.meanwhile, BusyPolicy::None)
        });
        let (mut beyond, mut gap) = (Vec::new(), Ok(()));
        for answer in join_all(asked).await {
            match (answer.map_err(Error::from), &gap) {
                (Ok(hold), Ok(())) => self.held.push(hold),
                (Ok(hold), Err(_)) => beyond.push(hold),
                (Err(error), Ok(())) => gap = Err(error),
                // Return a permanent error immediately, not after a wait for another lock.
                (Err(error), Err(first)) if first.is_temporary() && !error.is_temporary() => {
                    gap = Err(error);
                }
                (Err(_), Err(_)) => {}
            }
        }
        release_all(beyond).await;
        gap
    }

    /// Waits for the first missing lock, while the locks before it are held.
    async fn wait_for_next(&mut self) -> Result<(), Error> {
        let wanted = &self.wanted[self.held.len()];
        let wait = self.give_up.map(LeaseInstant::remaining);
        if wait.is_some_and(|wait| wait.is_zero()) {
            let acquired_at = self.engine.own_hold(&wanted.key);
            return Err(self.timed_out(&wanted.key, acquired_at));
        }
        self.has_waited = true;
        let options = AcquireOptions {
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
            Some(Err(error)) => return Err(self.over_all(error.into())),
            None => self.start_again().await,
        }
        Ok(())
    }

    async fn start_again(&mut self) {
        release_all(std::mem::take(&mut self.held)).await;
    }

    /// Starts the hold time of the whole set; returns false if one of its locks is already lost.
    async fn settle(&mut self) -> Result<bool, Error> {
        let must_renew = !self.asked_for.renewal || self.asked_for.hold_at_least.is_some();
        if self.has_waited && must_renew {
            // Without automatic renewal, the earlier leases would end before the lease of the last grant. After a crash,
            // they would end before `hold_at_least`.
            match renew_all(self.engine, &self.held, self.give_up).await {
                Ok(()) => {}
                Err(Error::Lost(_)) => return Ok(false),
                Err(error) => {
                    return Err(error);
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

    /// Returns the same error, with the waiting time of the whole set.
    fn over_all(&self, error: Error) -> Error {
        match error {
            Error::TimedOut {
                key, acquired_at, ..
            } => self.timed_out(&key, acquired_at),
            other => other,
        }
    }

    fn timed_out(&self, key: &Key, acquired_at: Option<&'static Location<'static>>) -> Error {
        Error::TimedOut {
            key: key.clone(),
            waited: LeaseInstant::now().since(self.started),
            holder: None,
            acquired_at,
        }
    }
}

/// Releases the locks, and waits until other clients can acquire them. Otherwise the next try of this acquire would
/// delay those clients. Unconfirmed releases continue in the background, and events have reported them.
async fn release_all(holds: Vec<Hold>) {
    join_all(holds.iter().map(Hold::release)).await;
}
