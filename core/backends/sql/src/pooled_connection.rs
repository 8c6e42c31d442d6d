//! A connection that goes back to its pool after a reply, and is closed without one.

use sqlx::Pool;
use sqlx::pool::PoolConnection;

use super::database::{Answer, LockDatabase};
use crate::is_read_only;

/// A connection of the pool for one operation.
///
/// The pool tests each returned connection, and waits for the reply without a time limit. A connection without replies,
/// as after a failure of the server's machine, would use up a place in the pool until the system closes the connection.
/// So a connection is closed if the caller stopped waiting for a reply. Only a connection whose last reply came just
/// before the failure still does so.
#[derive(Debug)]
pub(super) struct LentConnection<'p, DB: LockDatabase> {
    connection: PoolConnection<DB>,
    pool: &'p Pool<DB>,
    /// Whether the connection is closed instead of returned to the pool.
    is_closed: bool,
}

impl<'p, DB: LockDatabase> LentConnection<'p, DB> {
    pub(super) const fn new(connection: PoolConnection<DB>, pool: &'p Pool<DB>) -> Self {
        Self {
            connection,
            pool,
            is_closed: false,
        }
    }

    /// Runs statements, and returns their reply. If the server takes no writes, its connections are closed, because a new
    /// one may reach a new primary.
    pub(super) async fn run<'c, T>(
        &'c mut self,
        statements: impl FnOnce(&'c mut DB::Connection) -> Answer<'c, T>,
    ) -> Result<T, sqlx::Error> {
        let Self {
            connection,
            pool,
            is_closed,
        } = self;
        // The caller may stop waiting.
        *is_closed = true;
        let reply = statements(connection).await;
        *is_closed = reply.as_ref().is_err_and(is_read_only);
        if *is_closed {
            close_idle(pool);
        }
        reply
    }
}

impl<DB: LockDatabase> Drop for LentConnection<'_, DB> {
    fn drop(&mut self) {
        if self.is_closed {
            self.connection.close_on_drop();
        }
    }
}

/// Closes the idle connections of the pool, in the background.
pub(super) fn close_idle<DB: LockDatabase>(pool: &Pool<DB>) {
    while let Some(mut idle) = pool.try_acquire() {
        idle.close_on_drop();
    }
}
