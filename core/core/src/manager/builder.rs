//! Builds a lock manager.

use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::connect_by_url::connector;
use super::lock_manager::LockManager;
use crate::backend::lazy_connect::Lazy;
use crate::backend::{Backend, ConnectOptions};
use crate::clock::LeaseInstant;
use crate::engine::Backoff;
use crate::events;
use crate::options::{AcquireOptions, DEFAULT_PREFIX, Limits, validate_label};
use crate::{Error, Key, LockOptions, label};

/// Configures a [`LockManager`]. [`LockManager::builder`] returns a `LockManagerBuilder`.
///
/// # Default
///
/// | option | value |
/// |---|---|
/// | [`ttl`](Self::ttl) | 30 s |
/// | [`wait`](Self::wait) | forever |
/// | renewal | on; off with [`without_renewal`](Self::without_renewal) |
/// | [`max_hold`](Self::max_hold) | none |
/// | [`prefix`](Self::prefix) | `lock:` |
/// | [`label`](Self::label) | host name and process id, such as `web-3/4711` |
/// | [`max_connections`](Self::max_connections) | 10 to a database, 4 to `SQLite` |
/// | [`command_timeout`](Self::command_timeout) | 2 s |
/// | [`backend_retry_timeout`](Self::backend_retry_timeout) | 10 s |
/// | [`connect_retry_timeout`](Self::connect_retry_timeout) | 0 s |
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::LockManager;
/// use leasehold::backend::InProcess;
///
/// let locks = LockManager::builder()
///     .ttl(Duration::from_secs(10))
///     .prefix("shop:")
///     .build(InProcess::new())?;
/// # Ok(())
/// # }
/// ```
///
/// The builder of [`blocking::LockManager`](crate::blocking::LockManager) has the same options.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` or `connect`"]
pub struct LockManagerBuilder<M = LockManager> {
    prefix: String,
    limits: Limits,
    defaults: AcquireOptions,
    label: Option<String>,
    max_connections: Option<NonZeroU32>,
    connect_retry: Duration,
    manager: PhantomData<fn() -> M>,
}

impl LockManager {
    /// Returns a builder, which sets the options of a manager.
    pub fn builder() -> LockManagerBuilder {
        LockManagerBuilder::new()
    }
}

impl<M> LockManagerBuilder<M> {
    pub(crate) fn new() -> Self {
        Self {
            prefix: DEFAULT_PREFIX.to_owned(),
            limits: Limits::default(),
            defaults: AcquireOptions::default(),
            label: None,
            max_connections: None,
            connect_retry: Duration::ZERO,
            manager: PhantomData,
        }
    }

    /// Sets the default options of all locks: those that `options` contains.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.defaults.apply(options);
        self
    }

    /// Sets the default TTL.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.defaults.ttl = ttl;
        self
    }

    /// Sets the default acquire timeout.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.defaults.wait = Some(wait);
        self
    }

    /// Turns automatic renewal off by default.
    pub fn without_renewal(mut self) -> Self {
        self.defaults.renewal = false;
        self
    }

    /// Sets the default for the longest hold time.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.defaults.max_hold = Some(max_hold);
        self
    }

    /// Sets the prefix of every key, so that a lock on `order:42` does not collide with data at `order:42`. Use an
    /// empty prefix to lock the same key names as programs in other languages.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the label of the manager, by which people recognise its locks: in [`inspect`](LockManager::inspect) and
    /// [`list`](LockManager::list), in events and spans, in the error of an acquire with
    /// [`report_holder`](crate::Lock::report_holder), and on the server. [`connect`](Self::connect) also names the
    /// connections to Redis after the label (`CLIENT SETNAME`), if the user has the permission.
    ///
    /// A label has at most [`MAX_LABEL_BYTES`](crate::MAX_LABEL_BYTES) printable ASCII characters, without spaces. It
    /// need not be unique. The process keeps each different label in memory until it ends.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::backend::InProcess;
    ///
    /// let locks = LockManager::builder().label("api-7").build(InProcess::new())?;
    /// assert_eq!(locks.label(), "api-7");
    /// # Ok(())
    /// # }
    /// ```
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the maximum number of connections that [`connect`](Self::connect) opens to a database. The default is 10, and
    /// 4 on `SQLite`. Other backends open few connections, and ignore this option.
    ///
    /// A process that holds or waits for one lock needs one connection. With fewer than three connections, waiters poll
    /// instead of listening for notifications, so on Postgres the next holder may begin up to 320 ms later. The
    /// connections stay open until the shutdown of the manager. So a renewal does not need a new connection, which a
    /// server without a free one refuses.
    pub fn max_connections(mut self, max_connections: NonZeroU32) -> Self {
        self.max_connections = Some(max_connections);
        self
    }

    /// Sets how long one command to the backend may take. A command that has no reply within `timeout` counts as
    /// failed, with an unknown outcome. The maximum is [`MAX_COMMAND_TIMEOUT`](crate::MAX_COMMAND_TIMEOUT).
    pub fn command_timeout(mut self, timeout: Duration) -> Self {
        self.limits.command = timeout;
        self
    }

    /// Sets how long an acquire retries while the backend fails, and how long a shutdown waits for unconfirmed
    /// releases. With a longer timeout, acquires survive longer failovers. With a shorter timeout, acquires return
    /// errors sooner. With zero, an acquire returns the first failure. With `Duration::MAX`, an acquire retries without
    /// limit. A shutdown gives releases at least the time of one command.
    pub fn backend_retry_timeout(mut self, limit: Duration) -> Self {
        self.limits.outage = limit;
        self
    }

    /// Sets how long [`connect`](Self::connect) retries while the backend cannot be reached, as when both start at the
    /// same time. With zero, `connect` returns the first failure. With `Duration::MAX`, it retries without limit. Other
    /// failures, such as a wrong password, are not retried.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    ///
    /// let locks = LockManager::builder()
    ///     .connect_retry_timeout(Duration::from_secs(60))
    ///     .connect("redis://127.0.0.1")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect_retry_timeout(mut self, limit: Duration) -> Self {
        self.connect_retry = limit;
        self
    }

    /// Returns a builder with the same options, for another type of manager.
    #[cfg(feature = "blocking")]
    pub(crate) fn for_manager<N>(self) -> LockManagerBuilder<N> {
        LockManagerBuilder {
            prefix: self.prefix,
            limits: self.limits,
            defaults: self.defaults,
            label: self.label,
            max_connections: self.max_connections,
            connect_retry: self.connect_retry,
            manager: PhantomData,
        }
    }
}

impl LockManagerBuilder {
    /// Creates the manager on a backend.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Key`] for a prefix that no key can have. Returns [`Error::Option`] for an option that is
    /// invalid or that the backend does not support.
    pub fn build(self, backend: impl Backend) -> Result<LockManager, Error> {
        self.validate()?;
        self.on(Arc::new(backend))
    }

    /// Connects to the backend at a URL, as `LockManager::connect` does, and creates the manager on that backend.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`] if the connection fails, and the errors of [`build`](Self::build).
    pub async fn connect(self, url: &str) -> Result<LockManager, Error> {
        self.validate()?;
        let connector = connector(url, &self.connect_options())?;
        let end = LeaseInstant::now().after(self.connect_retry);
        let mut backoff = Backoff::default();
        let backend = loop {
            match connector.connect().await {
                Err(error) if error.is_temporary() => {
                    if !backoff.pause_before(end).await {
                        return Err(error);
                    }
                    events::connect_failed(&error);
                }
                connected => break connected?,
            }
        };
        self.on(backend)
    }

    /// Creates a manager that connects to the backend at a URL with its first operation. So a service can start while
    /// its lock server is down.
    ///
    /// While the backend cannot be reached, acquires retry for the
    /// [`backend_retry_timeout`](Self::backend_retry_timeout), as in an outage. If the connect fails for another reason,
    /// such as a wrong password, the acquire returns that error, and the next operation connects again. The option
    /// [`connect_retry_timeout`](Self::connect_retry_timeout) has no effect.
    ///
    /// Prefer [`connect`](Self::connect), which finds a wrong setting when the program starts, and not with the first
    /// request.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`] for a URL without a scheme that this build supports, and the errors of
    /// [`build`](Self::build). The first operation finds other faults of the URL.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "redis")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use std::time::Duration;
    /// use leasehold::LockManager;
    ///
    /// // No server has this address, and no operation has failed yet.
    /// let locks = LockManager::builder()
    ///     .backend_retry_timeout(Duration::ZERO)
    ///     .connect_lazily("redis://127.0.0.1:1")?;
    /// let error = locks.lock("order:42").acquire().await.unwrap_err();
    /// assert!(error.is_temporary());
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "redis"))]
    /// # fn main() {}
    /// ```
    pub fn connect_lazily(self, url: &str) -> Result<LockManager, Error> {
        self.validate()?;
        let connector = connector(url, &self.connect_options())?;
        self.on(Arc::new(Lazy::new(connector)))
    }

    fn connect_options(&self) -> ConnectOptions {
        ConnectOptions {
            label: self.label.clone(),
            max_connections: self.max_connections,
        }
    }

    fn validate(&self) -> Result<(), Error> {
        // A prefix is valid if a short key with this prefix is valid.
        Key::new(&self.prefix, "k")?;
        if let Some(label) = &self.label {
            validate_label(label)?;
        }
        Ok(self.limits.validate()?)
    }

    fn on(self, backend: Arc<dyn Backend>) -> Result<LockManager, Error> {
        let can = backend.capabilities();
        self.defaults.validate(can.least_ttl, can.most_ttl)?;
        let label = match &self.label {
            Some(label) => validate_label(label)?,
            None => label::of_process(),
        };
        Ok(LockManager::with_parts(
            backend,
            self.limits,
            &self.prefix,
            self.defaults,
            label,
        ))
    }
}
