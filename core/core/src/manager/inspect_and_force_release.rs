//! What a manager offers operators: inspect, list and force open the locks of all clients.

use super::list_locks::LockList;
use super::lock_manager::LockManager;
use crate::backend::Inspection;
use crate::engine::bounded;
use crate::{Error, Operation};

impl LockManager {
    /// Returns the holders of `key`, the remaining times of their leases, and the number of waiters. Use it for
    /// diagnostics and dashboards: the result may be outdated when you read it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Key`] for an invalid key, and [`Error::Backend`] if the backend does not respond. After a
    /// shutdown the backend may refuse the request.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::backend::InProcess;
    ///
    /// let locks = LockManager::builder().label("api-7").build(InProcess::new())?;
    /// let guard = locks.lock("order:42").acquire().await?;
    /// let seen = locks.inspect("order:42").await?;
    /// assert_eq!(seen.token, Some(guard.token()));
    /// assert_eq!(seen.waiting, 0);
    /// assert_eq!(seen.held_by[0].label.as_deref(), Some("api-7"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn inspect(&self, key: impl AsRef<str>) -> Result<Inspection, Error> {
        let key = self.key(key.as_ref())?;
        let engine = self.engine();
        let inspection = bounded(engine.limits.command, engine.backend().inspect(&key)).await;
        inspection.map_err(|source| Error::backend(Operation::Inspect, key, source))
    }

    /// Lists the locks that are held, by all clients of the backend. The keys begin with this manager's prefix followed
    /// by `prefix`; an empty `prefix` lists all of them. Nothing is requested until [`LockList::next`].
    ///
    /// The list is not a snapshot: a lock that is held during the whole listing is in the list, and on Redis it may be
    /// there twice. The order is undefined. The list contains at most 100 holders of each key. Keys that other programs
    /// use are not in the list. Each request is short, so the server serves other clients in between. The list uses
    /// little memory for any number of locks; in process and on Redlock it contains the keys.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let one = locks.lock("order:1").acquire().await?;
    /// let other = locks.lock("invoice:1").acquire().await?;
    ///
    /// let mut orders = locks.list("order:");
    /// while let Some(lock) = orders.next().await? {
    ///     let holder = &lock.state.held_by[0];
    ///     println!("{} {:?} {:?} {}", lock.key, holder.label, holder.expires_in, lock.state.waiting);
    /// #   assert_eq!(lock.key, "order:1");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, prefix: impl AsRef<str>) -> LockList {
        LockList::new(self.engine(), self.prefix(), prefix.as_ref())
    }

    /// Takes the lock from all its holders and grants it to the next waiter; returns false if the lock was not held.
    ///
    /// This method is for operators. A holder detects the loss with its next renewal, or at its deadline if renewal
    /// is off. Until then two guards may be valid, and only fencing tokens can reject the first holder's writes.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Key`] for an invalid key, and [`Error::Backend`] if the backend does not respond. After a
    /// shutdown the backend may refuse the request.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the backend may or may not have released the lock.
    pub async fn force_release(&self, key: impl AsRef<str>) -> Result<bool, Error> {
        let key = self.key(key.as_ref())?;
        let engine = self.engine();
        let released = bounded(engine.limits.command, engine.backend().force_release(&key)).await;
        released.map_err(|source| Error::backend(Operation::ForceRelease, key, source))
    }

    /// Takes the lock, or the permits, from one holder, and grants them to the next waiters. The other holders keep
    /// theirs. `holder` is the [id](crate::backend::HolderInfo::id) that [`inspect`](Self::inspect) returns. Returns
    /// false if this holder does not hold the lock.
    ///
    /// Like [`force_release`](Self::force_release), this method is for operators.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`force_release`](Self::force_release).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the backend may or may not have released the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let uploads = locks.semaphore("uploads", 3);
    /// let stuck = uploads.clone().acquire().await?;
    /// let other = uploads.acquire().await?;
    ///
    /// let seen = locks.inspect("uploads").await?;
    /// let stuck = stuck.attempt_id().to_string();
    /// let holder = seen.held_by.iter().find(|it| it.id == stuck).expect("it is a holder");
    /// assert!(locks.force_release_holder("uploads", &holder.id).await?);
    /// assert_eq!(locks.inspect("uploads").await?.holders, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn force_release_holder(
        &self,
        key: impl AsRef<str>,
        holder: impl AsRef<str>,
    ) -> Result<bool, Error> {
        let key = self.key(key.as_ref())?;
        let engine = self.engine();
        let release = engine.backend().force_release_holder(&key, holder.as_ref());
        let released = bounded(engine.limits.command, release).await;
        released.map_err(|source| Error::backend(Operation::ForceRelease, key, source))
    }
}
