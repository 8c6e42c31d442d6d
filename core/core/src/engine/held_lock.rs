//! One held lock, shared by its guard and its handles.

use std::ops::Deref;
use std::sync::Arc;

use super::release::{PendingRelease, ReleaseOutcome};
use super::{Engine, Lease};
use crate::clock::LeaseInstant;
use crate::options::AcquireOptions;
use crate::{Error, UnconfirmedRelease};

/// Owns a held lock from its grant on. Dropping this value releases the lock.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) engine: Arc<Engine>,
    pub(crate) lease: Arc<Lease>,
}

impl Hold {
    /// Starts the hold time at `begin`: see [`Lease::settle`].
    pub(crate) fn settle(&self, options: &AcquireOptions, begin: LeaseInstant) {
        self.lease.settle(options, begin);
        if options.max_hold.is_some() {
            // `max_hold` may end before the next check that the watchdog has scheduled.
            self.engine.watch(&self.lease, LeaseInstant::now());
        }
    }

    /// Releases the lock, and waits for the confirmation for at most the time of one command. The release of a lost lock
    /// continues in the background, because the backend may be down.
    pub(crate) async fn release(&self) -> Result<(), Error> {
        let outcome = match PendingRelease::take(&self.engine, &self.lease) {
            Ok(mut release) => match release.send_now() {
                Some(outcome) => outcome,
                // This future is boxed, so that the future of a release is cheap to move.
                None => Box::pin(release.send()).await.map_err(|source| {
                    UnconfirmedRelease::new(self.lease.claim.key.clone(), source)
                })?,
            },
            Err(reason) => ReleaseOutcome::AlreadyLost(reason),
        };
        match outcome {
            ReleaseOutcome::Released => Ok(()),
            ReleaseOutcome::AlreadyLost(reason) => Err(self.lease.lost(reason).into()),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.lease.is_release_pending() {
            // A concurrent shutdown may release the lock first.
            if let Ok(mut release) = PendingRelease::take(&self.engine, &self.lease) {
                // If the backend cannot reply immediately, the background task retries.
                let _outcome = release.send_now();
            }
        }
    }
}

/// A guard's reference to its held lock. Most locks have only one guard, and do not need a reference count.
#[derive(Debug)]
pub(crate) enum HoldRef {
    Whole(Hold),
    Shared(Arc<Hold>),
}

impl HoldRef {
    /// Returns the held lock if no other guard refers to it. If references are dropped concurrently, exactly one of
    /// them is the last.
    pub(crate) fn into_unique(self) -> Option<Hold> {
        match self {
            Self::Whole(hold) => Some(hold),
            Self::Shared(hold) => Arc::into_inner(hold),
        }
    }
}

impl Deref for HoldRef {
    type Target = Hold;

    fn deref(&self) -> &Hold {
        match self {
            Self::Whole(hold) => hold,
            Self::Shared(hold) => hold,
        }
    }
}
