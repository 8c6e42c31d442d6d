//! Runs a body in the reentrancy scope that holds its lock.
#![cfg_attr(
    not(feature = "macros"),
    allow(
        unreachable_pub,
        reason = "named in the expansion of annotated functions"
    )
)]

use std::future::Future;

use super::Lock;
use super::kind::Reentrant;
use super::run_guard::{RunGuard, run_under};
use crate::{Error, LockGuard, LockHandle, Lost, ReentrancyScope};

impl Lock<Reentrant> {
    /// Acquires the lock, [enters](ReentrancyScope::enter) its scope, runs `body` there, and then releases the lock. Inside
    /// `body`, [`ReentrancyScope::current`] returns the scope, and the lock is [current](crate::current_lock).
    ///
    /// In all other respects, this method is the `run` of the other kinds: if the lock is lost, `body` is dropped when it
    /// next waits. If other guards of the scope hold the lock, it stays held after `body`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`acquire`](Self::acquire), [`Error::LostInBody`] if the lock was lost before the release, and
    /// the error of `body`. Ignores an unconfirmed release, which continues in the background.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, `body` is dropped, and the manager releases the lock in the background.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::{Error, LockManager, ReentrancyScope};
    ///
    /// async fn pack(locks: &LockManager) -> Result<(), Error> {
    ///     let scope = ReentrancyScope::current().unwrap_or_default();
    ///     locks.lock("order:42").reentrant(&scope).run(async |_| Ok(())).await
    /// }
    ///
    /// let locks = LockManager::in_process();
    /// let order = locks.lock("order:42").reentrant(&ReentrancyScope::new());
    /// order.run(async |_| pack(&locks).await).await
    /// # }
    /// ```
    pub async fn run<T, E: From<Error>>(
        self,
        body: impl AsyncFnOnce(LockHandle<Reentrant>) -> Result<T, E>,
    ) -> Result<T, E> {
        let scope = self.scope.clone().unwrap_or_default();
        let guard = self.take(true).await?;
        run_under(ReentrantHold { guard, scope }, body).await
    }
}

/// A reentrant lock, and the scope that holds it.
#[derive(Debug)]
pub struct ReentrantHold {
    pub(crate) guard: LockGuard<Reentrant>,
    pub(crate) scope: ReentrancyScope,
}

impl RunGuard for ReentrantHold {
    type Handle = LockHandle<Reentrant>;

    fn view(&self) -> LockHandle<Reentrant> {
        self.guard.handle()
    }

    fn run<F: Future>(&self, body: F) -> impl Future<Output = Result<F::Output, Lost>> + use<F> {
        self.guard.handle().run_future(self.scope.enter(body))
    }

    #[cfg(feature = "macros")]
    fn run_to_end<F: Future>(&self, body: F) -> impl Future<Output = F::Output> + use<F> {
        self.scope.enter(self.guard.handle().scope(body))
    }

    async fn release(self) -> Option<Lost> {
        match self.guard.release().await {
            Err(Error::Lost(lost)) => Some(lost),
            Ok(_) | Err(_) => None,
        }
    }
}
