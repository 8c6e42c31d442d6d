//! The guard of a held lock.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::kind::{Exclusive, Fenced, Kind, Permits, Reentrant, Releasable, Shared};
#[cfg(feature = "once")]
use crate::backend::Outcome;
#[cfg(feature = "once")]
use crate::engine::record;
use crate::engine::{HoldRef, downgrade, hand_over, renew_now};
use crate::{
    AttemptId, Ended, Error, FencingToken, HandoverTicket, LockHandle, PermitId, ReentrantRelease,
};

/// A held lock.
///
/// The guard holds the lock until the guard is released or dropped, or until the lock is lost. The lock is lost if its
/// lease is not renewed in time, or if the backend reports another holder or no holder. The lock is also lost at
/// `max_hold` and at a shutdown. From the deadline on, [`is_valid`](Self::is_valid) is false and [`ended`](Self::ended)
/// resolves, even if the backend cannot be reached.
///
/// # What a guard cannot do
///
/// A guard cannot stop code that runs past the deadline without checking the guard. A process may be paused between a
/// check and the write that follows. Let the resource reject stale writes with the [`token`](Self::token).
///
/// # Release on drop is not immediate
///
/// `drop` cannot await. It passes the release to a background task on the current tokio runtime, or, outside a runtime,
/// on the runtime that acquired the lock. The task repeats the release until it is confirmed or permanently refused. If
/// that runtime ends first, another runtime that uses the manager continues the release. Without such a runtime, the
/// lease expires. With the in-process backend, the lock is free when `drop` returns. If your next step needs the lock
/// to be free, call [`release`](Self::release).
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use leasehold::LockManager;
///
/// let locks = LockManager::in_process();
/// let guard = locks.lock("order:42").acquire().await?;
/// let shipped = guard.run(async |lock| Ok::<_, leasehold::Error>(lock.token())).await?;
/// assert_eq!(shipped, guard.token());
/// guard.release().await?;
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
    /// Returns the fencing token of this acquisition. It is larger than the token of every earlier holder of the key.
    /// Readers that hold the lock together have the same token.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.hold.lease.claim.token
    }
}

impl LockGuard {
    /// Turns the exclusive lock into a shared lock, without a gap: no other writer can acquire the lock during the
    /// change. Waiting readers then acquire the lock. The token stays the same.
    ///
    /// Use this if a writer continues to read what it has written. A reader cannot become a writer again, because two
    /// readers that both wait to become writers would wait forever.
    ///
    /// # Errors
    ///
    /// Returns [`Error`] if the backend does not support the operation or fails, or if the lock was lost. The guard is
    /// then dropped, and the manager releases the lock in the background.
    /// [`capabilities`](crate::LockManager::capabilities) states whether the backend supports downgrades.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the manager releases the lock in the background.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let writer = locks.lock("prices").acquire().await?;
    /// let reader = writer.downgrade().await?;
    /// assert!(locks.rw_lock("prices").read().try_acquire().await?.is_some());
    /// assert!(locks.lock("prices").try_acquire().await?.is_none());
    /// # drop(reader);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn downgrade(self) -> Result<LockGuard<Shared>, Error> {
        let shared = downgrade(&self.hold).await?;
        Ok(LockGuard::new(HoldRef::Whole(shared)))
    }

    /// Hands the lock over, and returns a ticket with which any process can accept the lock: see
    /// [`accept`](crate::LockManager::accept).
    ///
    /// The call renews the lease one last time. If no process accepts the ticket within the TTL, the lock becomes free.
    /// The new holder's larger token makes fences reject the previous holder's writes. The ticket contains a secret.
    /// Without this secret, the backend refuses to grant the lock.
    ///
    /// # Errors
    ///
    /// Returns [`Error`] if the backend does not support the operation or fails, or if the lock was lost. The guard is
    /// then dropped, and the manager releases the lock in the background.
    /// [`capabilities`](crate::LockManager::capabilities) states whether the backend supports handovers.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the manager releases the lock in the background.
    pub async fn hand_over(self) -> Result<HandoverTicket, Error> {
        let handover = hand_over(&self.hold).await?;
        Ok(HandoverTicket::of(&self.hold.lease.claim, handover))
    }
}

#[cfg(feature = "once")]
impl LockGuard {
    /// Records the outcome of this guard's body for `keep`, and releases the lock, in one step.
    pub(super) async fn record(self, outcome: &Outcome, keep: Duration) -> Result<(), Error> {
        record(&self.hold, outcome, keep).await
    }
}

impl LockGuard<Permits> {
    /// Returns the id of these permits, which differs from the ids of all other holders.
    #[must_use]
    pub fn permit_id(&self) -> PermitId {
        self.handle().permit_id()
    }

    /// Returns the number of permits that this guard holds.
    #[must_use]
    pub fn permits(&self) -> u32 {
        self.handle().permits()
    }
}

impl<K: Releasable> LockGuard<K> {
    /// Releases the lock and waits until the backend has confirmed the release.
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`] if the lock was lost before. Work under the lock may have run alongside another holder. The
    ///   release then continues in the background, because the backend may be down.
    /// - [`Error::Unconfirmed`] if the backend did not confirm the release within the manager's command timeout. This
    ///   time includes a renewal in progress. The release continues in the background.
    ///
    /// The guard is dropped in each case. The compiler warns if you ignore the result:
    ///
    /// ```compile_fail
    /// #![deny(unused_must_use)]
    /// # async fn check(guard: leasehold::LockGuard) {
    /// guard.release().await;
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the manager sends the release even if the future is dropped.
    pub async fn release(self) -> Result<(), Error> {
        self.hold.release().await
    }
}

impl LockGuard<Reentrant> {
    /// Releases this guard. The last guard of its scope releases the lock and waits until the backend has confirmed the
    /// release. Other guards send no request.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost before, and [`Error::Unconfirmed`] if the backend did not confirm
    /// the release in time.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the manager sends the release even if the future is dropped.
    pub async fn release(self) -> Result<ReentrantRelease, Error> {
        let lease = Arc::clone(&self.hold.lease);
        if let Some(hold) = self.hold.into_unique() {
            hold.release().await?;
            return Ok(ReentrantRelease::Released);
        }
        match lease.validity() {
            Ok(_) => Ok(ReentrantRelease::StillHeld),
            // The last guard has released the lock since this guard left it.
            Err(reason) if reason.is_voluntary() => Ok(ReentrantRelease::StillHeld),
            Err(reason) => Err(lease.lost(reason).into()),
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

    /// Returns the key, as the caller named it.
    #[must_use]
    pub fn key(&self) -> &str {
        self.hold.lease.claim.key.name()
    }

    /// Returns the id of the attempt that acquired the lock: see [`LockHandle::attempt_id`].
    #[must_use]
    pub fn attempt_id(&self) -> AttemptId {
        self.hold.lease.claim.owner
    }

    /// Returns a view of this lock that can be cloned and cannot release.
    #[must_use]
    pub fn handle(&self) -> LockHandle<K> {
        LockHandle::new(&self.hold.lease)
    }

    /// Returns whether the lock is still held; see [`LockHandle::is_valid`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.hold.lease.validity().is_ok()
    }

    /// Returns how long the lock stays valid if no further renewal succeeds, and zero if the lock was lost.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        self.hold.lease.validity().unwrap_or_default()
    }

    /// Resolves at the end of the lease, and returns the reason; see [`LockHandle::ended`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub fn ended(&self) -> impl Future<Output = Ended> + Send + use<K> {
        self.handle().ended()
    }

    /// Runs `body` while the lock is held.
    ///
    /// If the lock is lost, `run` drops `body` at its current await point and returns [`Error::Lost`]. `run` checks the
    /// deadline before each poll of `body`, so `body` is not polled after a pause past the deadline. `run` returns the
    /// output of a completed `body` unchanged, even if the lock was lost in the last poll; [`release`](Self::release)
    /// then reports the loss.
    ///
    /// `body` runs as the holder of the lock, as in a [`scope`](LockHandle::scope): acquiring the same key there fails
    /// immediately instead of deadlocking. An acquire of the same semaphore does not fail, because more permits may be
    /// free. Set a `wait` for such an acquire.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost before `body` completed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`; the lock stays held.
    ///
    /// A server may still execute a request that `body` sent before it was dropped, such as a database statement. The
    /// [token](Self::token) lets the resource reject them.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`. If `body` panics, dropping the
    /// guard releases the lock.
    pub fn run<T, E, B>(&self, body: B) -> impl Future<Output = Result<T, E>> + use<K, T, E, B>
    where
        B: AsyncFnOnce(LockHandle<K>) -> Result<T, E>,
        E: From<Error>,
    {
        self.handle().run(body)
    }

    /// Renews the lease immediately, for the lock's TTL. Use `renew` for locks without automatic renewal, or before a
    /// long step.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost: acquire it again. Returns [`Error::Backend`] if the backend
    /// failed: the guard stays valid until its deadline.
    ///
    /// # Cancel safety
    ///
    /// Once the future has been polled, the manager sends the renewal even if the future is dropped.
    pub async fn renew(&self) -> Result<(), Error> {
        renew_now(&self.hold.engine, &self.hold.lease).await
    }

    /// Makes this guard lost, as if its lease had expired, to test how your code handles a loss.
    ///
    /// The manager sends nothing to the backend until the guard is released or dropped.
    #[cfg(feature = "test-util")]
    #[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
    pub fn simulate_loss(&self) {
        self.handle().simulate_loss();
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
