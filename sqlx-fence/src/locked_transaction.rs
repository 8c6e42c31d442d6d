//! Transactions that commit only while their lock is held.

use std::future::{Future, IntoFuture};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;

use leasehold_core::backend::{Claim, Mode};
use leasehold_core::{CurrentLock, EndReason, Lost};
use sqlx::{AssertSqlSafe, Pool, Transaction};

use crate::database::FencedDatabase;
use crate::fenced_transaction::to_its_end;
use crate::idempotency_store::{HasConnection, OpenTransaction};
use crate::{Error, Isolation};
use leasehold_sql::catalog::Obstacle;
use leasehold_sql::{LockDatabase, is_missing_table};

#[doc = include_str!("locked.md")]
#[derive(Debug)]
pub struct LockedTransaction<DB: LockDatabase + FencedDatabase> {
    tx: Transaction<'static, DB>,
    pool: Pool<DB>,
    lock: CurrentLock,
}

impl<DB: LockDatabase + FencedDatabase> LockedTransaction<DB> {
    /// Begins a transaction under a lock: a guard, a handle, or [`current_lock`](leasehold_core::current_lock). The
    /// transaction does not end the lock, and the guard need not outlive the transaction.
    ///
    /// The lock must be exclusive: a mutex, a write lock, or a reentrant lock. Guards of one reentrancy scope hold the
    /// lock together, so they are not protected against each other. Guards of a semaphore do not compile.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::current_lock;
    /// use leasehold_sqlx::{Error, LockedTransaction};
    /// use sqlx::SqlitePool;
    ///
    /// /// Runs in the body of a lock.
    /// async fn ship(pool: &SqlitePool) -> Result<(), Error> {
    ///     let mut tx = LockedTransaction::begin(pool, current_lock()?).await?;
    ///     sqlx::query("UPDATE orders SET state = 'shipped' WHERE id = 42").execute(&mut *tx).await?;
    ///     tx.commit().await
    /// }
    /// ```
    pub fn begin(pool: &Pool<DB>, lock: impl Into<CurrentLock>) -> LockedBegin<'_, DB> {
        LockedBegin {
            pool,
            lock: lock.into(),
            isolation: None,
        }
    }

    /// Commits the transaction if its lock is still held. Otherwise rolls back the transaction.
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: another client has acquired the lock, or its lease has ended. Nothing was written.
    /// - [`Error::NotInDatabase`]: the database has no row of the lock. Nothing was written.
    /// - [`Error::Sqlx`]: the database or the driver failed. If the source is an error of the database, nothing was
    ///   written: for example a failed deferred constraint, or a serialization failure while the lock is still held. If
    ///   the connection was lost, the outcome is unknown.
    ///
    /// # Cancel safety
    ///
    /// A dropped call has committed everything or nothing.
    pub async fn commit(self) -> Result<(), Error> {
        Error::if_lost(self.lock.end())?;
        let claim = self.lock.claim();
        let conflict = match DB::commit(self.tx, claim).await {
            Ok(true) => return Ok(()),
            Ok(false) => None,
            Err(error) if DB::obstacle(&error) == Some(Obstacle::Conflict) => Some(error),
            Err(error) if error.as_database_error().is_some_and(is_missing_table) => {
                return Err(not_in_database(claim));
            }
            Err(error) => return Err(error.into()),
        };
        let reading = match self.pool.acquire().await {
            Ok(mut connection) => {
                let prepare = DB::prepares(&self.pool);
                DB::read(&mut connection, prepare, claim.key.full())
                    .await
                    .ok()
            }
            Err(_unreachable) => None,
        };
        let end = match (reading, conflict) {
            // A renewal may have changed the row since the snapshot of the transaction.
            (None, Some(conflict)) => return Err(conflict.into()),
            (Some(reading), Some(conflict)) if reading.end_of(claim).is_none() => {
                return Err(conflict.into());
            }
            (Some(reading), _) if reading.record.is_none() => return Err(not_in_database(claim)),
            (reading, _) => reading.and_then(|it| it.end_of(claim)),
        };
        let (key, reason) = (claim.key.clone(), end.unwrap_or(EndReason::Gone));
        Err(Error::Lost(Lost::new(key, Some(claim.token), reason)))
    }

    /// Rolls back the transaction. If you drop the transaction instead, sqlx rolls it back when the connection returns to
    /// the pool.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Sqlx`] if the database or the driver failed. The database does not commit the transaction in
    /// this case either.
    ///
    /// # Cancel safety
    ///
    /// A dropped call rolls back, too.
    pub async fn rollback(self) -> Result<(), Error> {
        Ok(self.tx.rollback().await?)
    }

    /// Returns the lock of the transaction.
    #[must_use]
    pub const fn lock(&self) -> &CurrentLock {
        &self.lock
    }
}

fn not_in_database(claim: &Claim) -> Error {
    Error::NotInDatabase {
        key: claim.key.to_string(),
    }
}

impl<DB: LockDatabase + FencedDatabase> Deref for LockedTransaction<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        &self.tx
    }
}

impl<DB: LockDatabase + FencedDatabase> DerefMut for LockedTransaction<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        &mut self.tx
    }
}

impl<DB: LockDatabase + FencedDatabase> OpenTransaction for LockedTransaction<DB> {}

impl<DB: LockDatabase + FencedDatabase> HasConnection for LockedTransaction<DB> {
    type Database = DB;

    fn connection(&mut self) -> &mut DB::Connection {
        self
    }
}

/// Builds a transaction: see [`LockedTransaction::begin`]. `.await` the builder to begin the transaction.
///
/// # Default
///
/// | setting | default |
/// |---|---|
/// | isolation | the database's default |
#[derive(Debug, Clone)]
#[must_use = "a transaction does not begin automatically: `.await` it"]
pub struct LockedBegin<'p, DB: LockDatabase + FencedDatabase> {
    pool: &'p Pool<DB>,
    lock: CurrentLock,
    isolation: Option<Isolation>,
}

impl<DB: LockDatabase + FencedDatabase> LockedBegin<'_, DB> {
    /// Sets the isolation level. `SQLite` ignores this setting and always uses the strictest level.
    ///
    /// Read uncommitted has the effect of read committed on every database. Otherwise the transaction could read writes
    /// of a previous holder whose commit is then refused.
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(match isolation {
            Isolation::ReadUncommitted => Isolation::ReadCommitted,
            stricter => stricter,
        });
        self
    }

    async fn begin(self) -> Result<LockedTransaction<DB>, Error> {
        let claim = self.lock.claim();
        if claim.mode != Mode::Exclusive {
            let key = claim.key.to_string();
            return Err(Error::NotExclusive { key });
        }
        Error::if_lost(self.lock.end())?;
        let (pool, statement) = (self.pool.clone(), DB::begin(self.isolation, None));
        let begin = async move {
            let tx = pool.begin_with(AssertSqlSafe(statement)).await?;
            Ok((tx, pool))
        };
        let (tx, pool) = to_its_end(begin).await?;
        // The wait for a connection may have been longer than the lease.
        Error::if_lost(self.lock.end())?;
        let lock = self.lock;
        Ok(LockedTransaction { tx, pool, lock })
    }
}

impl<'p, DB: LockDatabase + FencedDatabase> IntoFuture for LockedBegin<'p, DB> {
    type Output = Result<LockedTransaction<DB>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'p>>;

    /// Begins the transaction.
    ///
    /// # Errors
    ///
    /// - [`Error::NotExclusive`]: the lock is shared.
    /// - [`Error::Lost`]: the lock was lost, or was released.
    /// - [`Error::Sqlx`]: the pool returned no connection, or the database failed. On `SQLite`, another transaction held
    ///   the write lock for longer than the connection's busy timeout.
    ///
    /// # Cancel safety
    ///
    /// In a tokio runtime, a dropped call rolls back at any point. In another runtime, the connection may return to the
    /// pool with the transaction still open, because sqlx 0.9 does not roll it back.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}
