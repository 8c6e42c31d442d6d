//! Finds out why a pool returns no connection.

use std::pin::pin;
use std::time::{Duration, Instant};

use leasehold_core::backend::BackendError;
use sqlx::{Connection, Pool};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::database::LockDatabase;
use super::error;
use super::pooled_connection::{LentConnection, close_idle};

/// The time after which a pool is slow, and between two checks of the server.
const SLOW: Duration = Duration::from_millis(500);

/// The time for which a refused operation waits for a connection that another one returns. Together with the time before,
/// it is less than the default command timeout, so that the caller gets the reason.
const RETURN: Duration = Duration::from_secs(1);

/// The pause between two looks at the idle connections of the pool.
const PAUSE: Duration = Duration::from_millis(20);

/// Checks whether the server accepts connections while the pool returns none.
///
/// A pool of sqlx repeats a refused connect until its timeout, which is longer than that of a command, and the reason is
/// lost. It also tests an idle connection without a time limit, so a silently dropped connection uses up the time of the
/// command. A connection outside of the pool tells both cases.
#[derive(Debug, Default)]
pub(super) struct ServerCheck {
    last: Mutex<Option<(Instant, Result<(), BackendError>)>>,
}

impl ServerCheck {
    /// Acquires a connection of the pool.
    pub(super) async fn acquire<'p, DB: LockDatabase>(
        &self,
        pool: &'p Pool<DB>,
    ) -> Result<LentConnection<'p, DB>, BackendError> {
        {
            let mut acquire = pin!(pool.acquire());
            let lent = |acquired: Result<_, sqlx::Error>| {
                let connection = acquired.map_err(error::of_pool)?;
                Ok(LentConnection::new(connection, pool))
            };
            let checked = tokio::select! {
                biased;
                acquired = &mut acquire => return lent(acquired),
                checked = self.check_until_known(pool) => checked,
            };
            if let Err(refused) = checked {
                // The server may serve its old connections. The operation keeps its place in the queue of the pool.
                return tokio::select! {
                    biased;
                    acquired = acquire => lent(acquired),
                    returned = timeout(RETURN, idle(pool)) => returned.map_err(|_elapsed| refused),
                };
            }
        }
        // The pool tests a connection that does not reply. The other idle ones may not reply either.
        close_idle(pool);
        let connection = pool.acquire().await.map_err(error::of_pool)?;
        Ok(LentConnection::new(connection, pool))
    }

    /// Returns an error if the server refuses connections. Does not return while other operations use all connections.
    async fn check_until_known<DB: LockDatabase>(
        &self,
        pool: &Pool<DB>,
    ) -> Result<(), BackendError> {
        loop {
            sleep(SLOW).await;
            let checked = self.check(pool).await;
            let is_used_up =
                pool.num_idle() == 0 && pool.size() >= pool.options().get_max_connections();
            if checked.is_err() || !is_used_up {
                return checked;
            }
        }
    }

    /// Connects to the server. Concurrent operations share a check.
    async fn check<DB: LockDatabase>(&self, pool: &Pool<DB>) -> Result<(), BackendError> {
        let mut last = self.last.lock().await;
        if let Some((at, checked)) = &*last
            && at.elapsed() < SLOW
        {
            return checked.clone();
        }
        let checked = match DB::Connection::connect_with(&pool.connect_options()).await {
            Ok(connection) => {
                // The server closes the connection if this fails.
                let _ended = connection.close().await;
                Ok(())
            }
            Err(refused) => Err(error::of_pool(refused)),
        };
        *last = Some((Instant::now(), checked.clone()));
        checked
    }
}

/// Waits until another operation returns a connection that the server still serves.
async fn idle<DB: LockDatabase>(pool: &Pool<DB>) -> LentConnection<'_, DB> {
    loop {
        let Some(connection) = pool.try_acquire() else {
            sleep(PAUSE).await;
            continue;
        };
        let mut connection = LentConnection::new(connection, pool);
        if connection.run(|on| Box::pin(on.ping())).await.is_ok() {
            return connection;
        }
    }
}
