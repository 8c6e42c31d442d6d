//! Locks with several concurrent holders.

mod contestants;
mod run;

pub(crate) use self::run::Kinds;

use async_trait::async_trait;

use crate::BoxError;

/// The kind of lock that a task acquires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Read,
    Write,
    /// One of [`PERMITS`].
    Permit,
}

const PERMITS: u32 = 4;

/// A contestant that has such locks.
#[async_trait]
trait Contestant: Send + Sync {
    /// Acquires, simulates work for a moment, and releases. Calls `granted` when the lock is granted.
    async fn turn(
        &self,
        key: &str,
        wish: Wish,
        granted: &mut (dyn FnMut() + Send),
    ) -> Result<(), BoxError>;
}
