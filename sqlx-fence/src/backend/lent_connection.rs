//! A connection that goes back to its pool after a reply, and is closed without one.

use sqlx::pool::PoolConnection;

use super::database::{Answer, LockDatabase};

/// A connection of the pool for one operation.
///
/// The pool tests each returned connection, and waits for the reply without a time limit. A connection without replies,
/// as after a failure of the server's machine, would use up a place in the pool until the system closes the connection.
/// So a connection is closed if the caller stopped waiting for a reply. Only a connection whose last reply came just
/// before the failure still does so.
#[derive(Debug)]
pub(super) struct LentConnection<DB: LockDatabase> {
    connection: PoolConnection<DB>,
    is_waiting: bool,
}

impl<DB: LockDatabase> LentConnection<DB> {
    pub(super) const fn new(connection: PoolConnection<DB>) -> Self {
        Self {
            connection,
            is_waiting: false,
        }
    }

    /// Runs statements, and returns their reply.
    pub(super) async fn run<'c, T>(
        &'c mut self,
        statements: impl FnOnce(&'c mut DB::Connection) -> Answer<'c, T>,
    ) -> Result<T, sqlx::Error> {
        let Self {
            connection,
            is_waiting,
        } = self;
        *is_waiting = true;
        let reply = statements(connection).await;
        *is_waiting = false;
        reply
    }
}

impl<DB: LockDatabase> Drop for LentConnection<DB> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.connection.close_on_drop();
        }
    }
}
