//! Locks that several may hold at once.

mod contestants;
mod run;

pub(crate) use self::run::Kinds;

use async_trait::async_trait;

use crate::BoxError;

/// What a task wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Read,
    Write,
    /// One of [`PERMITS`].
    Permit,
}

const PERMITS: u32 = 4;

/// One who has such locks.
#[async_trait]
trait Contestant: Send + Sync {
    /// Acquires, does for a moment as if it worked, and releases. What is told is when it was granted.
    async fn turn(
        &self,
        key: &str,
        wish: Wish,
        granted: &mut (dyn FnMut() + Send),
    ) -> Result<(), BoxError>;
}
