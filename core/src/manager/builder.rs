//! Builds a lock manager.

use std::sync::Arc;
use std::time::Duration;

use super::lock_manager::LockManager;
use crate::backend::Backend;
use crate::options::{DEFAULT_PREFIX, Limits, LockOptions};
use crate::{Error, Key};

/// A manager in the making. Made by [`LockManager::builder`].
///
/// # Default
///
/// | option | value |
/// |---|---|
/// | [`ttl`](Self::ttl) | 30 s |
/// | [`wait`](Self::wait) | for ever |
/// | renewal | on; off with [`without_renewal`](Self::without_renewal) |
/// | [`max_hold`](Self::max_hold) | none |
/// | [`prefix`](Self::prefix) | `lock:` |
/// | [`command_timeout`](Self::command_timeout) | 2 s |
/// | [`outage_limit`](Self::outage_limit) | 10 s |
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::LockManager;
/// use leasehold::backend::InProcess;
///
/// let locks = LockManager::builder(InProcess::new())
///     .ttl(Duration::from_secs(10))
///     .prefix("shop:")
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct LockManagerBuilder {
    backend: Arc<dyn Backend>,
    prefix: String,
    limits: Limits,
    defaults: LockOptions,
}

impl LockManager {
    /// Locks on `backend`, with other options.
    pub fn builder(backend: impl Backend) -> LockManagerBuilder {
        LockManagerBuilder::on(Arc::new(backend))
    }
}

impl LockManagerBuilder {
    pub(super) fn on(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            prefix: DEFAULT_PREFIX.to_owned(),
            limits: Limits::default(),
            defaults: LockOptions::default(),
        }
    }

    /// The TTL of locks that name none.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.defaults.ttl = ttl;
        self
    }

    /// How long acquires wait that say nothing of it.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.defaults.wait = Some(wait);
        self
    }

    /// Leaves the leases of this manager's locks to their TTL.
    pub fn without_renewal(mut self) -> Self {
        self.defaults.renewal = false;
        self
    }

    /// The longest hold of locks that name none.
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.defaults.max_hold = Some(max_hold);
        self
    }

    /// What stands before every key, so that a lock on `order:42` does not meet data at `order:42`.
    /// Empty to share bare names with programs in other languages.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long one command to the backend may take. What is not answered by then counts as failed,
    /// with an unknown outcome. At most [`MAX_COMMAND_TIMEOUT`](crate::MAX_COMMAND_TIMEOUT).
    pub fn command_timeout(mut self, timeout: Duration) -> Self {
        self.limits.command = timeout;
        self
    }

    /// How long an acquire goes on while the backend fails, and a shutdown while releases are not
    /// confirmed. Longer rides out longer failovers; shorter tells callers sooner. At zero the first
    /// failure is the answer; `Duration::MAX` never gives up. A shutdown gives releases the time of one
    /// command at least.
    pub fn outage_limit(mut self, limit: Duration) -> Self {
        self.limits.outage = limit;
        self
    }

    /// Checks the options and makes the manager.
    ///
    /// # Errors
    ///
    /// [`Error::Key`] for a prefix that no key can follow, [`Error::Option`] for an option that cannot
    /// work; each names the remedy.
    pub fn build(self) -> Result<LockManager, Error> {
        // A prefix is good if a short key behind it is.
        Key::new(&self.prefix, "k")?;
        self.limits.validate()?;
        let can = self.backend.capabilities();
        self.defaults.validate(can.least_ttl, can.most_ttl)?;
        Ok(LockManager::with_parts(
            self.backend,
            self.limits,
            &self.prefix,
            self.defaults,
        ))
    }
}
