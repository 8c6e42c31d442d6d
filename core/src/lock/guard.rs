//! The guard of a held lock.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::kind::{Exclusive, Fenced, Kind, Permits, Reentrant, Releasable, Shared};
use crate::engine::{HoldRef, downgrade, hand_over, renew_now};
use crate::{
    ConvertError, FencingToken, HandoverTicket, LockHandle, Lost, ReentrantReleaseOutcome,
    ReleaseError, ReleaseOutcome, RenewError, Run, SlotToken,
};

/// A held lock.
///
/// The lock is held until the guard is released or dropped, or until it is lost: when its lease could
/// not be renewed in time, when the backend says that it is gone, at `max_hold`, or at shutdown. A
/// guard never pretends: from its deadline on [`is_valid`](Self::is_valid) is false and
/// [`lost`](Self::lost) resolves, whether or not the backend can be reached.
///
/// # What a guard cannot do
///
/// It cannot stop code that is past its deadline and does not look: a process may be paused between
/// a check and the write that follows. Let the resource refuse stale writes with the
/// [`token`](Self::token).
///
/// # Release on drop is not immediate
///
/// Dropping cannot await. It hands the release to a background task on the current tokio runtime, or, outside of
/// one, on the runtime that acquired the lock. The task repeats it until it is confirmed, or refused for good. If that
/// runtime ends first, another in which the manager is used goes on with it; if there is none, the lease runs out. In
/// process the lock is free when the drop returns. Where the next step depends on the lock being free,
/// [`release`](Self::release) it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::{LockManager, ReleaseOutcome};
///
/// let locks = LockManager::in_process();
/// let guard = locks.lock("order:42").acquire().await?;
/// let shipped = guard.run(async { "shipped" }).await?;
/// assert_eq!(shipped, "shipped");
/// assert_eq!(guard.release().await?, ReleaseOutcome::Released);
/// # Ok(())
/// # }
/// ```
#[must_use = "the lock is released as soon as the guard is dropped; bind it to a name"]
#[clippy::has_significant_drop]
pub struct LockGuard<K: Kind = Exclusive> {
    hold: HoldRef,
    kind: PhantomData<fn() -> K>,
}

impl<K: Fenced> LockGuard<K> {
    /// The fencing token of this acquisition: larger than that of every earlier holder of the key, but for
    /// readers that hold it together, who share one.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.hold.lease.claim.token
    }
}

impl LockGuard {
    /// Shares what is held alone, without a gap: nobody writes in between, and waiting readers are let in. The
    /// token stays.
    ///
    /// A writer that goes on reading what it has written does this. There is no way back: two readers who both
    /// wait to become the writer wait for ever.
    ///
    /// # Errors
    ///
    /// [`ConvertError`]; the guard is gone, and the lock is released in the background. Whether a backend can do it is
    /// told before by [`capabilities`](crate::LockManager::capabilities).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the lock is released in the background.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let writer = locks.lock("prices").acquire().await?;
    /// let reader = writer.downgrade().await?;
    /// assert!(locks.read_lock("prices").try_acquire().await?.is_some());
    /// assert!(locks.lock("prices").try_acquire().await?.is_none());
    /// # drop(reader);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn downgrade(self) -> Result<LockGuard<Shared>, ConvertError> {
        let shared = downgrade(&self.hold).await?;
        Ok(LockGuard::new(HoldRef::Whole(shared)))
    }

    /// Gives the lock to whoever gets the ticket, in whatever process: [`take_up`](crate::LockManager::take_up).
    ///
    /// The lease is renewed once more and then runs: if nobody takes the lock up within its TTL, it is free. Who
    /// does gets a larger token, so that a fence refuses what the giver may still write. Nobody can but by the ticket: it has
    /// a secret that was made for it, and that the backend has heard of.
    ///
    /// # Errors
    ///
    /// [`ConvertError`]; the guard is gone, and the lock is released in the background. Whether a backend can do it is
    /// told before by [`capabilities`](crate::LockManager::capabilities).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the lock is released in the background.
    pub async fn hand_over(self) -> Result<HandoverTicket, ConvertError> {
        let handover = hand_over(&self.hold).await?;
        Ok(HandoverTicket::of(&self.hold.lease.claim, handover))
    }
}

impl LockGuard<Permits> {
    /// What tells this holder from the others.
    #[must_use]
    pub fn slot_token(&self) -> SlotToken {
        self.handle().slot_token()
    }

    /// How many permits it holds.
    #[must_use]
    pub fn permits(&self) -> u32 {
        self.handle().permits()
    }
}

impl<K: Releasable> LockGuard<K> {
    /// Releases the lock and waits until the backend has confirmed it.
    ///
    /// # Errors
    ///
    /// [`ReleaseError`] if there was no confirmation within the manager's command timeout, a renewal that
    /// was under way included. The guard is gone all the same, and the release goes on in the background.
    ///
    /// # Cancel safety
    ///
    /// From the first poll on, the release takes place even if the future is dropped.
    pub async fn release(self) -> Result<ReleaseOutcome, ReleaseError> {
        self.hold.release().await
    }
}

impl LockGuard<Reentrant> {
    /// Gives this guard's part in the lock up. If it was the last one in its scope, releases the lock and waits
    /// until the backend has confirmed it; else nobody is asked.
    ///
    /// # Errors
    ///
    /// As for a lock of another kind: [`ReleaseError`] if there was no confirmation in time.
    ///
    /// # Cancel safety
    ///
    /// From the first poll on, the release takes place even if the future is dropped.
    pub async fn release(self) -> Result<ReentrantReleaseOutcome, ReleaseError> {
        let lease = Arc::clone(&self.hold.lease);
        match self.hold.into_unique() {
            Some(hold) => Ok(hold.release().await?.into()),
            None => Ok(match lease.validity() {
                Ok(_) => ReentrantReleaseOutcome::StillHeld,
                Err(reason) => ReentrantReleaseOutcome::AlreadyLost(reason),
            }),
        }
    }
}

impl<K: Kind> LockGuard<K> {
    pub(crate) fn new(hold: HoldRef) -> Self {
        Self {
            hold,
            kind: PhantomData,
        }
    }

    /// What is locked, as the caller named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.hold.lease.claim.key.name()
    }

    /// A view of this lock that can be cloned and cannot release.
    #[must_use]
    pub fn handle(&self) -> LockHandle<K> {
        LockHandle::new(&self.hold.lease)
    }

    /// Whether the lock is still held; see [`LockHandle::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.hold.lease.validity().is_ok()
    }

    /// How long the lock is surely held if no further renewal succeeds; zero once it is lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.hold.lease.validity().unwrap_or_default()
    }

    /// Resolves when the lock is no longer held, with the reason; see [`LockHandle::lost`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + use<K> {
        self.handle().lost()
    }

    /// Runs `body` while the lock is held.
    ///
    /// When the lock is lost, `body` is dropped where it stands and the answer is [`Lost`]. Before
    /// each step of `body` the deadline is looked at, so that after a pause of the process not one
    /// more step is taken. A body that completed is answered as such, with its own error untouched,
    /// even if the lock was lost in its last step; [`release`](Self::release) then tells.
    ///
    /// `body` runs as the holder of the lock, as in a [`scope`](LockHandle::scope): where it acquires the same key once
    /// more it is told so at once, and does not wait for itself. Not so with permits, of which there may be more: give an
    /// acquire of those a `wait`.
    ///
    /// # Errors
    ///
    /// [`Lost`] if the lock was lost before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the lock stays held.
    ///
    /// What `body` had sent before it was dropped, here or at a loss, may still be carried out: a statement that a database
    /// has begun, a request that a service has taken. That is what the [token](Self::token) is for.
    ///
    /// # Panics
    ///
    /// If `body` does: the guard then releases as it is dropped. And inside a tokio runtime that was built
    /// without `enable_time`.
    pub fn run<F: Future>(&self, body: F) -> Run<F> {
        self.handle().run(body)
    }

    /// Sets the lease anew to the lock's TTL, now. For locks without renewal, and for those who want to
    /// be sure before a long step.
    ///
    /// # Errors
    ///
    /// [`RenewError::Lost`] if the lock is no longer ours: acquire it anew. [`RenewError::Backend`] if
    /// the backend failed: the guard stays valid until its deadline.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the renewal takes place even if the future is dropped.
    pub async fn renew(&self) -> Result<(), RenewError> {
        renew_now(&self.hold.engine, &self.hold.lease).await
    }

    /// Makes this guard lost, as if its lease had run out, to test how your code takes it.
    ///
    /// The backend is told nothing until the guard is released or dropped.
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    pub fn simulate_loss(&self) {
        // Lost already is lost.
        let _ended = self.hold.lease.end(crate::LossReason::Expired);
    }
}

impl<K: Kind> fmt::Debug for LockGuard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockGuard")
            .field("key", &self.key())
            .field("token", &self.hold.lease.claim.token)
            .field("valid_for", &self.valid_for())
            .finish()
    }
}
