//! The outcome of releasing a reentrant lock.

/// How the release of a guard of a reentrant lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReentrantRelease {
    /// The guard was the last guard of its scope, and the lock is free.
    Released,
    /// Other guards of the scope still hold the lock.
    StillHeld,
}
