use std::fmt;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use leasehold_core::{LockGuard, LockManager, LockOptions, Lost};
use tower_service::Service;

use super::{LockFuture, LockKey, LockServiceError};
use crate::limited_acquire::Source;
use crate::release_guard::give_back;

/// Runs each call of a Tower service under a lock.
///
/// If a call loses its lock, the service drops the call at its current `.await`. Before the service returns the
/// response, it releases the lock and waits for the confirmation. For HTTP use [`LockLayer`](crate::LockLayer).
///
/// # Default
///
/// - A call does not wait: if its lock is busy, the call fails immediately.
/// - If a wait is set, at most 1024 calls wait.
/// - TTL and longest hold time are those of the manager.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::convert::Infallible;
/// use leasehold::LockManager;
/// use leasehold_tower::service::{LockedService, LockServiceError};
/// use tower::layer::layer_fn;
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// let locks = LockManager::in_process();
/// let by_order = |order: &u64| Some(format!("order:{order}"));
/// let ship = ServiceBuilder::new()
///     .layer(layer_fn(|inner| LockedService::new(inner, locks.clone(), by_order)))
///     .service(service_fn(async |order: u64| Ok::<_, Infallible>(order)));
///
/// assert_eq!(ship.clone().oneshot(42).await?, 42);
///
/// let _elsewhere = locks.lock("order:42").acquire().await?;
/// assert!(matches!(ship.oneshot(42).await, Err(LockServiceError::Lock(_))));
/// # Ok(())
/// # }
/// ```
pub struct LockedService<S, K> {
    inner: S,
    source: Source,
    key: Arc<K>,
    options: LockOptions,
}

impl<S, K> LockedService<S, K> {
    /// Creates a service that acquires a lock from `locks` for each call of `inner`. `key` returns the key of a call.
    #[must_use]
    pub fn new(inner: S, locks: LockManager, key: K) -> Self {
        Self {
            inner,
            source: Source::new(locks),
            key: Arc::new(key),
            options: LockOptions::new(),
        }
    }

    /// Sets the options that `options` contains, such as those of a configuration file.
    #[must_use]
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.options = self.options.with(options);
        self
    }

    /// Sets the TTL: see [`Lock::ttl`](leasehold_core::Lock::ttl).
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = Some(ttl);
        self
    }

    /// Sets the longest hold time, including renewals: see [`Lock::max_hold`](leasehold_core::Lock::max_hold). After that
    /// time the lock is lost.
    #[must_use]
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.options.max_hold = Some(max_hold);
        self
    }

    /// Sets how long the lock stays taken at least, even if the call ends before: see
    /// [`Lock::hold_at_least`](leasehold_core::Lock::hold_at_least).
    #[must_use]
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.options.hold_at_least = Some(hold_at_least);
        self
    }

    /// Sets the name of the lock in metrics and spans, so that you see which service is contended: see
    /// [`Lock::name`](leasehold_core::Lock::name).
    #[must_use]
    pub fn name(mut self, name: &'static str) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Sets how long a call waits for a busy lock.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.options.wait = Some(wait);
        self
    }

    /// Sets how many calls may wait concurrently, in all clones of this service and over all keys. A further call fails
    /// immediately.
    #[must_use]
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.source.max_waiters(most);
        self
    }
}

impl<S, K, R> Service<R> for LockedService<S, K>
where
    S: Service<R> + Clone + Send + 'static,
    S::Response: Send,
    S::Error: Send,
    S::Future: Send,
    K: LockKey<R> + Send + Sync + 'static,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = LockServiceError<S::Error>;
    type Future = LockFuture<S::Future, S::Response, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let ready = self.inner.poll_ready(cx);
        ready.map_err(LockServiceError::Service)
    }

    fn call(&mut self, mut request: R) -> Self::Future {
        let Some(name) = self.key.key(&request) else {
            return LockFuture::passing(self.inner.call(request));
        };
        // Only the polled service is ready. So call the polled service, and store the clone for the next call.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        let (source, key) = (self.source.clone(), Arc::clone(&self.key));
        let options = self.options.clone();
        let lock = source.locks().lock(&name);
        LockFuture::locked(Box::pin(async move {
            let guard = source.acquire(lock, &options).await?;
            key.locked(&mut request, &guard.handle());
            under(guard, ready, request).await
        }))
    }
}

async fn under<S, R>(
    guard: LockGuard,
    mut service: S,
    request: R,
) -> Result<S::Response, LockServiceError<S::Error>>
where
    S: Service<R>,
{
    let lock = guard.handle();
    let output = {
        let mut inner = pin!(service.call(request));
        guard
            .run(async |_| Ok::<_, leasehold_core::Error>(lock.scope(inner.as_mut()).await))
            .await
    };
    drop(service);
    let output = output.map_err(LockServiceError::Lock)?;
    let lost = give_back(guard).await;
    // Do not replace an error of the service, because the caller needs its reason.
    let response = output.map_err(LockServiceError::Service)?;
    if lost.is_some() {
        let lost = Lost::from(lock.ended().await);
        return Err(LockServiceError::Lock(lost.into()));
    }
    Ok(response)
}

impl<S: Clone, K> Clone for LockedService<S, K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            source: self.source.clone(),
            key: Arc::clone(&self.key),
            options: self.options.clone(),
        }
    }
}

impl<S: fmt::Debug, K> fmt::Debug for LockedService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedService")
            .field("inner", &self.inner)
            .field("source", &self.source)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
