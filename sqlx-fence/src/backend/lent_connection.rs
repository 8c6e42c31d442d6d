//! A connection that goes back to its pool within a time limit.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::database::LockDatabase;

/// The time limit, after which the connection is closed.
const LIMIT: Duration = Duration::from_secs(5);

/// A connection of the pool for one operation.
///
/// The pool tests each returned connection, and waits for the reply without a time limit. A connection without replies,
/// as after a failure of the server's machine, would use up a place in the pool until the system closes the connection.
#[derive(Debug)]
pub(super) struct LentConnection<DB: LockDatabase>(PoolConnection<DB>);

impl<DB: LockDatabase> LentConnection<DB> {
    pub(super) const fn new(connection: PoolConnection<DB>) -> Self {
        Self(connection)
    }
}

impl<DB: LockDatabase> Deref for LentConnection<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        &self.0
    }
}

impl<DB: LockDatabase> DerefMut for LentConnection<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        &mut self.0
    }
}

impl<DB: LockDatabase> Drop for LentConnection<DB> {
    fn drop(&mut self) {
        // Without a runtime, the pool cannot test the connection either.
        if let Ok(runtime) = Handle::try_current() {
            let returned = self.0.return_to_pool();
            // A return that is dropped closes the connection.
            runtime.spawn(async move { drop(timeout(LIMIT, returned).await) });
        }
    }
}
