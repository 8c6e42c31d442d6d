//! One held lock, shared by its guard and its handles.

use std::ops::Deref;
use std::sync::Arc;

use super::release::PendingRelease;
use super::{Engine, Lease};
use crate::clock::LeaseInstant;
use crate::options::LockOptions;
use crate::{ReleaseError, ReleaseOutcome};

/// Owns a held lock from the very step in which it was granted: dropped, it releases.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) engine: Arc<Engine>,
    pub(crate) lease: Arc<Lease>,
}

impl Hold {
    /// Begins the hold at `begin`: see [`Lease::settle`].
    pub(crate) fn settle(&self, options: &LockOptions, begin: LeaseInstant) {
        self.lease.settle(options, begin);
        if options.max_hold.is_some() {
            // The end may be nearer than the renewal for which the watchdog would look next.
            self.engine.watch(&self.lease, LeaseInstant::now());
        }
    }

    /// Ends the hold, and waits for as long as one command may take until that is confirmed.
    pub(crate) async fn release(&self) -> Result<ReleaseOutcome, ReleaseError> {
        let mut debt = match PendingRelease::take(&self.engine, &self.lease) {
            Ok(debt) => debt,
            Err(reason) => return Ok(ReleaseOutcome::AlreadyLost(reason)),
        };
        if let Some(outcome) = debt.pay_now() {
            return Ok(outcome);
        }
        debt.pay()
            .await
            .map_err(|source| ReleaseError::new(self.lease.claim.key.clone(), source))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.lease.is_release_pending() {
            // A shutdown that is quicker is as well.
            if let Ok(mut debt) = PendingRelease::take(&self.engine, &self.lease) {
                // Where the backend has no answer at once, the background has one.
                let _outcome = debt.pay_now();
            }
        }
    }
}

/// What a guard has of a hold. Most guards have all of it, and need no count of the others.
#[derive(Debug)]
pub(crate) enum HoldRef {
    Whole(Hold),
    Shared(Arc<Hold>),
}

impl HoldRef {
    /// The hold, if nobody else has a part in it. Of parts that go at once, exactly one is the last.
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
