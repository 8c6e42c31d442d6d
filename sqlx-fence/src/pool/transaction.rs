//! Transactions of a fenced pool.

use std::future::{Future, IntoFuture};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::{CurrentLock, FencingToken, current_lock, current_lock_by_key};
use sqlx::{Pool, Transaction};

use super::statement_decision::Settings;
use crate::database::FencedDatabase;
use crate::fenced_transaction::Begin;
use crate::{DEFAULT_LOCK_TIMEOUT, Error, Isolation};

/// A transaction that has claimed the resource of a lock: see
/// [`FencedPool::begin`](crate::FencedPool::begin).
#[derive(Debug)]
pub struct FencedTransaction<DB: FencedDatabase> {
    connection: FencedConnection<DB>,
}

/// The connection of a [`FencedTransaction`]. `&mut *tx` is an [`Executor`](sqlx::Executor) that fences each write.
#[derive(Debug)]
pub struct FencedConnection<DB: FencedDatabase> {
    pub(crate) tx: Transaction<'static, DB>,
    pub(super) lock: CurrentLock,
    pub(super) settings: Arc<Settings>,
    /// The token that the variable of the `MySQL` session certainly has. Only this transaction uses the connection.
    pub(super) variable: Option<FencingToken>,
}

impl<DB: FencedDatabase> FencedTransaction<DB> {
    /// Commits the transaction.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Sqlx`] if the database or the driver failed. The outcome is then unknown.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have committed.
    pub async fn commit(self) -> Result<(), Error> {
        Ok(self.connection.tx.commit().await?)
    }

    /// Rolls back the transaction. If you drop the transaction instead, sqlx rolls it back when the connection is used
    /// again.
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
        Ok(self.connection.tx.rollback().await?)
    }
}

impl<DB: FencedDatabase> FencedConnection<DB> {
    /// Returns the lock whose resource the transaction has claimed.
    #[must_use]
    pub const fn lock(&self) -> &CurrentLock {
        &self.lock
    }
}

impl<DB: FencedDatabase> Deref for FencedTransaction<DB> {
    type Target = FencedConnection<DB>;

    fn deref(&self) -> &FencedConnection<DB> {
        &self.connection
    }
}

impl<DB: FencedDatabase> DerefMut for FencedTransaction<DB> {
    fn deref_mut(&mut self) -> &mut FencedConnection<DB> {
        &mut self.connection
    }
}

/// Builds a transaction: see [`FencedPool::begin`](crate::FencedPool::begin). `.await` the builder to begin the
/// transaction.
///
/// # Default
///
/// | setting | default |
/// |---|---|
/// | key | the key of [`current_lock`] |
/// | lock limit | [`DEFAULT_LOCK_TIMEOUT`] |
/// | isolation | the database's default |
#[derive(Debug)]
#[must_use = "a transaction does not begin automatically: `.await` it"]
pub struct FencedBegin<'p, DB: FencedDatabase> {
    pool: &'p Pool<DB>,
    settings: &'p Arc<Settings>,
    key: Option<String>,
    limit: Duration,
    isolation: Option<Isolation>,
}

impl<'p, DB: FencedDatabase> FencedBegin<'p, DB> {
    pub(super) const fn new(pool: &'p Pool<DB>, settings: &'p Arc<Settings>) -> Self {
        Self {
            pool,
            settings,
            key: None,
            limit: DEFAULT_LOCK_TIMEOUT,
            isolation: None,
        }
    }

    /// Claims the resource of another lock that the task holds. Call this method if the task acquired several locks
    /// together.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets how long to wait while another transaction holds the claim: see
    /// [`Begin::lock_timeout`](crate::Begin::lock_timeout).
    pub const fn lock_timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the isolation level. `SQLite` ignores this setting and always uses the strictest level.
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    async fn begin(self) -> Result<FencedTransaction<DB>, Error> {
        let lock = match &self.key {
            Some(key) => current_lock_by_key(key)?,
            None => current_lock()?,
        };
        Error::if_lost(lock.end())?;
        let mut begin = Begin::new(lock.token(), self.pool, lock.key().to_owned());
        begin.isolation = self.isolation;
        let tx = begin.lock_timeout(self.limit).await?;
        // The waits for a connection and for the claim may have been longer than the lease.
        if let Some(lost) = lock.end() {
            // Ignore an error of the rollback, because the transaction is then not committed either.
            drop(tx.rollback().await);
            return Err(Error::Lost(lost));
        }
        let connection = FencedConnection {
            tx,
            lock,
            settings: Arc::clone(self.settings),
            variable: None,
        };
        Ok(FencedTransaction { connection })
    }
}

impl<'p, DB: FencedDatabase> IntoFuture for FencedBegin<'p, DB> {
    type Output = Result<FencedTransaction<DB>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'p>>;

    /// Begins the transaction, and claims the resource.
    ///
    /// # Errors
    ///
    /// - [`Error::Lock`]: the task does not hold a lock on this key. Nothing was sent.
    /// - [`Error::Lost`]: the task has lost the lock. Nothing was sent. If the task lost the lock while the call waited,
    ///   the call has rolled back the transaction and its claim.
    /// - The errors of [`Fence::begin`](crate::Fence::begin): [`Error::Stale`], [`Error::Busy`], [`Error::Name`] and
    ///   [`Error::Sqlx`].
    ///
    /// # Cancel safety
    ///
    /// In a tokio runtime, a dropped call rolls back: see [`Fence::begin`](crate::Fence::begin).
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}
