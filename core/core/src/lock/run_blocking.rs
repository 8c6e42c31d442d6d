//! Runs blocking code while a lock is held, on a thread of tokio.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::kind::{Kind, Releasable};
use super::run_guard::release_after;
use crate::runtime;
use crate::{Error, Lock, LockGuard, LockHandle, held_locks_of_task};

impl<K: Kind> LockGuard<K> {
    /// Runs blocking code while the lock is held, on a thread of [`tokio::task::spawn_blocking`]. The watchdog renews
    /// the lease while the thread runs, on every kind of runtime.
    ///
    /// Nothing can stop a thread. If the lock is lost, `body` continues to its end: call [`LockHandle::check`] between
    /// long steps, and write with the [token](LockHandle::token). `run_blocking` returns the result of `body`
    /// unchanged, even after a loss; [`release`](Self::release) then reports the loss.
    ///
    /// Inside `body`, [`current_lock`](crate::current_lock) returns this lock. `body` does not inherit the other locks
    /// of the caller's task.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Lost`] if the lock was lost before `body` began. Returns the error of `body`. Returns
    /// [`Error::NoRuntime`] outside a tokio runtime, or in a runtime that shuts down.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, `body` continues. The guard may then release the lock while `body` runs. To keep the
    /// lock until the end of `body`, use [`Lock::run_blocking`].
    ///
    /// # Panics
    ///
    /// Panics if `body` panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{Error, LockManager};
    ///
    /// let guard = LockManager::in_process().lock("index").acquire().await?;
    /// let rows = guard
    ///     .run_blocking(|lock| {
    ///         let mut rows = 0;
    ///         while rows < 1000 {
    ///             lock.check()?;
    ///             rows += 100; // a long step, and its write with `lock.token()`
    ///         }
    ///         Ok::<_, Error>(rows)
    ///     })
    ///     .await?;
    /// assert_eq!(rows, 1000);
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run_blocking<T, E>(
        &self,
        body: impl FnOnce(LockHandle<K>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let lock = self.handle();
        lock.check().map_err(E::from)?;
        on_thread(move || run_in_scope(lock, body)).await?
    }
}

impl<K: Releasable> Lock<K> {
    /// Acquires the lock, runs blocking code while it is held, and releases it. Use [`run`](Self::run) for async code.
    ///
    /// `body` runs as in [`LockGuard::run_blocking`]. If the lock was lost, this method drops the result of a
    /// successful `body` and returns an error, as [`run`](Self::run) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run), and [`Error::NoRuntime`] in a runtime that shuts down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the acquire. If `body` has begun, it continues, and the lock stays held until the end
    /// of `body`.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`.
    pub async fn run_blocking<T, E>(
        self,
        body: impl FnOnce(LockHandle<K>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let guard = self.take(true).await?;
        let lock = guard.handle();
        // The thread owns the guard, so that the lock stays held even if this future is dropped.
        let (guard, output) = on_thread(move || {
            let output = run_in_scope(lock, body);
            (guard, output)
        })
        .await?;
        release_after(guard, output).await
    }
}

fn run_in_scope<K: Kind, R>(lock: LockHandle<K>, body: impl FnOnce(LockHandle<K>) -> R) -> R {
    held_locks_of_task::enter(&Arc::clone(lock.lease()), || body(lock))
}

/// Runs a closure on a blocking thread, to its end.
async fn on_thread<R: Send + 'static>(
    body: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Error> {
    let thread = runtime::spawn_blocking(body).ok_or(Error::NoRuntime)?;
    thread.await.map_err(|ended| match ended.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_cancelled) => Error::NoRuntime,
    })
}
