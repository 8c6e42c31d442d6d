//! The mode in which a lock is held.

/// The mode in which a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The lock has one holder at a time.
    Exclusive,
    /// The holder is a reader of a read-write lock. Only other readers can hold the lock at the same time.
    Shared,
    /// The holder has `count` permits of a semaphore. The backend grants an attempt only if afterwards at most `of`
    /// permits are in use. Each attempt contains its own limit.
    Permits {
        /// The number of permits to acquire.
        count: u32,
        /// The number of permits of the semaphore.
        of: u32,
    },
}

impl Mode {
    /// Returns the number of permits. Returns 1 for an exclusive or a shared holder.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Exclusive | Self::Shared => 1,
            Self::Permits { count, .. } => count as usize,
        }
    }

    /// Returns whether claims in this mode have a fencing token. Permits do not have one.
    pub(crate) const fn has_token(self) -> bool {
        match self {
            Self::Exclusive | Self::Shared => true,
            Self::Permits { .. } => false,
        }
    }

    /// Returns whether one key can have both modes. A key is either a lock or a semaphore, so both modes must be
    /// permits, or neither.
    #[must_use]
    pub const fn is_like(self, other: Self) -> bool {
        matches!(self, Self::Permits { .. }) == matches!(other, Self::Permits { .. })
    }
}
