//! The features that a backend supports.

use std::time::Duration;

use crate::MAX_TTL;

/// The features that a backend supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether the backend serves waiters first come, first served.
    pub fifo: bool,
    /// The shortest TTL that this backend supports.
    pub least_ttl: Duration,
    /// The longest TTL that this backend supports.
    pub most_ttl: Duration,
    /// Whether the backend supports [`Mode::Shared`](super::Mode::Shared).
    pub shared: bool,
    /// Whether the backend supports [`Mode::Permits`](super::Mode::Permits).
    pub permits: bool,
    /// Whether an attempt can accept a lock from its holder.
    pub handover: bool,
    /// Whether the backend records the outcomes of holders.
    pub once: bool,
    /// Whether a released lock can stay taken until a minimum hold time has passed.
    pub hold_at_least: bool,
    /// Whether the backend can list the locks that are held.
    pub list: bool,
}

impl Capabilities {
    /// Creates capabilities with exclusive locks only, no promised order, and TTLs of at least `least_ttl`.
    #[must_use]
    pub const fn new(least_ttl: Duration) -> Self {
        Self {
            fifo: false,
            least_ttl,
            most_ttl: MAX_TTL,
            shared: false,
            permits: false,
            handover: false,
            once: false,
            hold_at_least: false,
            list: false,
        }
    }

    /// Creates capabilities with all features, and TTLs of at least `least_ttl`.
    #[must_use]
    pub const fn all(least_ttl: Duration) -> Self {
        Self::new(least_ttl)
            .with_fifo(true)
            .with_shared(true)
            .with_permits(true)
            .with_handover(true)
            .with_once(true)
            .with_hold_at_least(true)
            .with_list(true)
    }

    /// Sets the longest TTL. The default is [`MAX_TTL`].
    #[must_use]
    pub const fn with_most_ttl(mut self, most_ttl: Duration) -> Self {
        self.most_ttl = most_ttl;
        self
    }

    /// Sets whether readers can share a lock.
    #[must_use]
    pub const fn with_shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Sets whether the backend supports semaphores.
    #[must_use]
    pub const fn with_permits(mut self, permits: bool) -> Self {
        self.permits = permits;
        self
    }

    /// Sets whether another attempt can accept a lock from its holder.
    #[must_use]
    pub const fn with_handover(mut self, handover: bool) -> Self {
        self.handover = handover;
        self
    }

    /// Sets whether the backend records the outcomes of holders.
    #[must_use]
    pub const fn with_once(mut self, once: bool) -> Self {
        self.once = once;
        self
    }

    /// Sets whether a released lock can stay taken until a minimum hold time has passed; see
    /// [`Backend::release_after`](super::Backend::release_after).
    #[must_use]
    pub const fn with_hold_at_least(mut self, hold_at_least: bool) -> Self {
        self.hold_at_least = hold_at_least;
        self
    }

    /// Sets whether the backend can list the locks that are held; see [`Backend::list`](super::Backend::list).
    #[must_use]
    pub const fn with_list(mut self, list: bool) -> Self {
        self.list = list;
        self
    }

    /// Sets whether the backend serves waiters first come, first served.
    #[must_use]
    pub const fn with_fifo(mut self, fifo: bool) -> Self {
        self.fifo = fifo;
        self
    }
}
