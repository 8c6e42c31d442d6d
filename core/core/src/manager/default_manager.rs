//! The default manager of a process, and the manager of the current task.

use std::future::Future;
use std::sync::OnceLock;

use super::lock_manager::LockManager;
use crate::Error;

static GLOBAL_DEFAULT: OnceLock<LockManager> = OnceLock::new();

tokio::task_local! {
    static IN_SCOPE: LockManager;
}

impl LockManager {
    /// Makes this manager the default of the whole process. The default can be set once per process.
    ///
    /// # Errors
    ///
    /// Returns [`Error::DefaultAlreadySet`] if the process already has a default manager, which stays the default.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::LockManager;
    ///
    /// let locks = LockManager::in_process();
    /// locks.set_global_default()?;
    /// assert!(LockManager::current().is_ok());
    /// assert!(locks.set_global_default().is_err());
    /// # Ok::<(), leasehold::Error>(())
    /// ```
    pub fn set_global_default(&self) -> Result<(), Error> {
        GLOBAL_DEFAULT
            .set(self.clone())
            .map_err(|_refused| Error::DefaultAlreadySet)
    }

    /// Runs `task` with this manager as the current manager. The current manager takes precedence over the process-wide
    /// default. Use `as_default` in tests, or to give each tenant its own manager. Tasks that `task` spawns are not in
    /// its scope.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    ///
    /// let locks = LockManager::in_process();
    /// locks
    ///     .as_default(async {
    ///         let locks = LockManager::current()?;
    ///         locks.lock("order:42").acquire().await?.release().await?;
    ///         Ok(())
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe if `task` is cancel safe.
    pub fn as_default<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        IN_SCOPE.scope(self.clone(), task)
    }

    /// Returns the manager of the innermost [`as_default`](Self::as_default), or otherwise the process-wide manager.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoManager`] outside `as_default`, if the process does not have a default manager.
    pub fn current() -> Result<Self, Error> {
        IN_SCOPE
            .try_with(Self::clone)
            .ok()
            .or_else(|| GLOBAL_DEFAULT.get().cloned())
            .ok_or(Error::NoManager)
    }
}
