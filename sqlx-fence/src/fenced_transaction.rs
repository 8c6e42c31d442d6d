//! Transactions under a fence.

use std::future::{Future, IntoFuture};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::time::{Duration, Instant};

use leasehold_core::{FencingToken, Stale};
use sqlx::{AssertSqlSafe, Pool, Transaction};
use tokio::runtime::Handle;
use tracing::Instrument;

use crate::Error;
use crate::database::{Claim, FencedDatabase};
use crate::events_and_metrics;
use crate::fence::Fence;
use crate::isolation_level::Isolation;
use crate::resource_names;
use leasehold_sql::catalog::Obstacle;

/// The default time that [`Fence::begin`](crate::Fence::begin) waits for another transaction: 5 s.
pub const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

impl Fence {
    /// Begins a transaction that claims the resource for the token. Until the transaction ends, another `begin` on the
    /// same resource waits. A `begin` with an older token returns [`Error::Stale`]. The transaction protects reads and
    /// all kinds of statement.
    ///
    /// The first statement of the transaction locks the resource's row in the table `leasehold_fences` (see
    /// [`ddl`](crate::ddl)). This statement stores the token in the row, and fails if the row has a newer token. The
    /// row stays locked until the transaction ends.
    ///
    /// # Together with `query`
    ///
    /// [`Fence::query`] checks the row that it writes, not the table `leasehold_fences`. A plain statement does not
    /// change the token of a row. So if any code writes a row with `query`, write it here with
    /// `fence.query(..).execute(&mut *tx)`, too. In an `INSERT`, set the token column. Otherwise the row is protected
    /// only against other `begin` transactions. Rows that are only read are also protected only against other `begin`
    /// transactions.
    ///
    /// # With `?`
    ///
    /// `commit` and plain statements return [`sqlx::Error`]. `?` converts this error into an [`Error`], and with the
    /// feature `sqlx` of `leasehold-tower` into a `Problem`. Implement `From` for both in your own error type:
    ///
    /// ```
    /// use leasehold_sqlx::{Error, Fence};
    /// use sqlx::SqlitePool;
    ///
    /// async fn ship(pool: &SqlitePool, fence: &Fence) -> Result<(), Error> {
    ///     let mut tx = fence.begin(pool, "order:42").await?;
    ///     sqlx::query("UPDATE orders SET state = 'shipped' WHERE id = 42")
    ///         .execute(&mut *tx)
    ///         .await?;
    ///     tx.commit().await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # What ends the claim
    ///
    /// The claim ends with the transaction. On `MySQL` and `MariaDB` it also ends with every statement that commits
    /// implicitly: DDL, `TRUNCATE`, `LOCK TABLES` or a second `START TRANSACTION`. Statements after it are not fenced,
    /// so do not use such statements in the transaction.
    ///
    /// After an error, or after a call on the transaction was dropped, drop the transaction and begin again. The
    /// database may already have rolled back the transaction and its claim. It then commits later statements without a
    /// fence, and `commit` may still return `Ok`. The database rolls back in these cases:
    ///
    /// - on `MySQL` and `MariaDB` after a deadlock
    /// - on every database if a `begin` on the transaction fails or is dropped, because sqlx 0.9 then rolls back the
    ///   whole transaction
    ///
    /// On Postgres, `commit` returns `Ok` after a failed statement, but the database writes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold_sqlx::{Error, Fence, ddl};
    ///
    /// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
    /// # let pool = options.connect("sqlite::memory:").await?;
    /// # sqlx::query("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)").execute(&pool).await?;
    /// # sqlx::query("INSERT INTO accounts VALUES (1, 100)").execute(&pool).await?;
    /// ddl::create_fences(&pool).await?;
    /// let (older, newer) = (Fence::try_from(7)?, Fence::try_from(9)?);
    ///
    /// let mut tx = newer.begin(&pool, "account:1").await?;
    /// let balance: i64 = sqlx::query_scalar("SELECT balance FROM accounts WHERE id = 1")
    ///     .fetch_one(&mut *tx)
    ///     .await?;
    /// sqlx::query("UPDATE accounts SET balance = ? WHERE id = 1")
    ///     .bind(balance - 30)
    ///     .execute(&mut *tx)
    ///     .await?;
    /// tx.commit().await?;
    ///
    /// let late = older.begin(&pool, "account:1").await;
    /// assert!(matches!(late, Err(Error::Stale(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn begin<'p, DB: FencedDatabase>(
        &self,
        pool: &'p Pool<DB>,
        resource: impl Into<String>,
    ) -> Begin<'p, DB> {
        Begin::new(self.token(), pool, resource.into())
    }
}

/// Builds a transaction: see [`Fence::begin`](crate::Fence::begin). `.await` the builder to begin the transaction.
///
/// # Default
///
/// | setting | default |
/// |---|---|
/// | lock limit | [`DEFAULT_LOCK_TIMEOUT`] |
/// | isolation | the database's default |
#[derive(Debug, Clone)]
#[must_use = "a transaction does not begin automatically: `.await` it"]
pub struct Begin<'p, DB: FencedDatabase> {
    token: FencingToken,
    pool: &'p Pool<DB>,
    resource: String,
    limit: Duration,
    pub(crate) isolation: Option<Isolation>,
}

impl<'p, DB: FencedDatabase> Begin<'p, DB> {
    pub(crate) const fn new(token: FencingToken, pool: &'p Pool<DB>, resource: String) -> Self {
        Self {
            token,
            pool,
            resource,
            limit: DEFAULT_LOCK_TIMEOUT,
            isolation: None,
        }
    }

    /// Sets how long to wait while another transaction holds the fence of the resource. If a holder is paused with an
    /// open transaction, the next holder waits for at most `limit`.
    ///
    /// On Postgres the limit applies to every other lock in this transaction, too. On `MySQL` and `MariaDB` the limit
    /// is rounded up to whole seconds.
    ///
    /// A paused holder keeps the row locked beyond its lease. To end its transaction, set
    /// `idle_in_transaction_session_timeout` (Postgres) or `idle_transaction_timeout` (`MariaDB`) for the sessions of the
    /// pool. Leasehold does not set it, because it would also end the transaction of a live holder that is idle for longer.
    pub const fn lock_timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the isolation level. `SQLite` ignores this setting and always uses the strictest level.
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    async fn begin(self) -> Result<Transaction<'static, DB>, Error> {
        let tx = self.claimed().await?;
        events_and_metrics::begun(&self.resource, self.token);
        Ok(tx)
    }

    /// Begins the transaction and claims the resource. Tries again after a conflict, until the time limit elapses.
    pub(crate) async fn claimed(&self) -> Result<Transaction<'static, DB>, Error> {
        resource_names::check("resource", &self.resource)?;
        let begun = Instant::now();
        loop {
            let left = self.limit.saturating_sub(begun.elapsed());
            let attempt = attempt(
                self.pool.clone(),
                DB::begin(self.isolation, Some(left)),
                self.resource.clone(),
                self.token,
                left,
            );
            let error = match to_its_end(attempt).await {
                Ok(Attempt::Begun(tx)) => return Ok(tx),
                Ok(Attempt::Newer(current)) => return Err(self.stale(current)?.into()),
                Err(error) => error,
            };
            match DB::obstacle(&error) {
                // The caller has not used the transaction yet, so a retry is safe.
                Some(Obstacle::Conflict) if begun.elapsed() < self.limit => {}
                Some(_) => {
                    events_and_metrics::busy(&self.resource, self.token);
                    return Err(Error::Busy {
                        resource: self.resource.clone(),
                        limit: self.limit,
                    });
                }
                None => return Err(error.into()),
            }
        }
    }

    fn stale(&self, current: i64) -> Result<Stale, Error> {
        let stale = resource_names::stale(self.token, current)?;
        events_and_metrics::stale(&self.resource, &stale);
        Ok(stale)
    }
}

/// The outcome of an attempt to begin a transaction.
enum Attempt<DB: FencedDatabase> {
    Begun(Transaction<'static, DB>),
    Newer(i64),
}

/// Begins a transaction and claims the resource in it.
async fn attempt<DB: FencedDatabase>(
    pool: Pool<DB>,
    statement: String,
    resource: String,
    token: FencingToken,
    limit: Duration,
) -> Result<Attempt<DB>, sqlx::Error> {
    let mut tx = pool.begin_with(AssertSqlSafe(statement)).await?;
    match DB::claim_within(&mut tx, &resource, token, limit).await {
        Ok(Claim::Accepted) => Ok(Attempt::Begun(tx)),
        Ok(Claim::Newer(current)) => {
            tx.rollback().await?;
            Ok(Attempt::Newer(current))
        }
        Err(error) => {
            // Ignore an error of the rollback, because the original error is the cause.
            drop(tx.rollback().await);
            Err(error)
        }
    }
}

/// Runs the attempt in its own task, so that the attempt ends even if the caller is dropped. If the beginning of a
/// transaction is cancelled, sqlx does not roll back, and returns the connection to the pool. The database would
/// confirm later writes on that connection, and roll them back afterwards. On `MySQL` and `MariaDB` sqlx may also lose
/// a connection if a statement is dropped while it is prepared.
pub(crate) async fn to_its_end<T: Send + 'static>(
    attempt: impl Future<Output = Result<T, sqlx::Error>> + Send + 'static,
) -> Result<T, sqlx::Error> {
    let Ok(runtime) = Handle::try_current() else {
        return attempt.await;
    };
    match runtime.spawn(attempt.in_current_span()).await {
        Ok(ended) => ended,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_cancelled) => Err(sqlx::Error::WorkerCrashed),
        },
    }
}

impl<'p, DB: FencedDatabase> IntoFuture for Begin<'p, DB> {
    type Output = Result<Transaction<'static, DB>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'p>>;

    /// Begins the transaction, and claims the resource for the token.
    ///
    /// # Errors
    ///
    /// - [`Error::Stale`]: the row of the resource has a newer token.
    /// - [`Error::Busy`]: another transaction holds the fence for longer than the limit.
    /// - [`Error::Name`]: the resource is empty, longer than 512 bytes, or contains a NUL.
    /// - [`Error::Sqlx`]: the pool returned no connection, the table `leasehold_fences` does not exist, or the database
    ///   failed.
    ///
    /// At isolation levels above read committed, a later statement or the commit may return a serialization failure
    /// (Postgres 40001, `MariaDB` 1020 and 1213). Then begin again. `begin` retries serialization failures of the claim
    /// itself.
    ///
    /// # Cancel safety
    ///
    /// In a tokio runtime, a dropped call rolls back at any point and returns its connection unchanged to the pool. The
    /// rollback happens when the wait of the call ends or the time limit elapses. Until then the call keeps its
    /// connection, or its position in the queue of the pool.
    ///
    /// In another runtime, a call does not roll back if it is dropped while the transaction begins. The connection then
    /// returns to the pool with the transaction still open, because sqlx 0.9 does not roll it back. On `MySQL`,
    /// `MariaDB` and `SQLite` that connection may keep this time limit for locks. On `MySQL` and `MariaDB` the pool may
    /// lose the connection.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}
