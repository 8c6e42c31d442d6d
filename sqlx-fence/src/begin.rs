//! Transactions under a fence.

use std::future::{Future, IntoFuture};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::time::{Duration, Instant};

use leasehold::{FencingToken, Stale};
use sqlx::{AssertSqlSafe, Pool, Transaction};
use tokio::runtime::Handle;
use tracing::Instrument;

use crate::Error;
use crate::database::{Claim, FencedDatabase, Obstacle};
use crate::fence::Fence;
use crate::isolation::Isolation;
use crate::observe;
use crate::resource;

/// How long [`Fence::begin`](crate::Fence::begin) waits for another transaction, unless told otherwise: 5 s.
pub const DEFAULT_LOCK_LIMIT: Duration = Duration::from_secs(5);

impl Fence {
    /// A transaction that no newer holder can overtake, and no older one can follow, if they begin as well: reads in it
    /// are as safe as writes, and so is any kind of statement.
    ///
    /// Its first statement locks the resource's row in the table `fences` (see [`ddl`](crate::ddl)), notes the token
    /// there, and refuses if a newer one was. The row stays locked until the transaction ends.
    ///
    /// # Beside `query`
    ///
    /// [`Fence::query`] looks at the row that it writes, and not at `fences`; a plain statement leaves the row's token as
    /// it was. So rows that anybody writes with `query` are written with `fence.query(..).execute(&mut *tx)` here, too,
    /// and an `INSERT` sets the column with the token. Without that, `begin` keeps out those alone who begin; and so it
    /// does from rows that are only read.
    ///
    /// # With `?`
    ///
    /// `commit` and plain statements return [`sqlx::Error`]. `?` makes an [`Error`] of it, and with the feature `sqlx` of
    /// `leasehold-tower` a `Problem`. An error type of your own has `From` for both:
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
    /// The transaction's end, and on `MySQL` and `MariaDB` everything that commits by itself: DDL, `TRUNCATE`,
    /// `LOCK TABLES`, a second `START TRANSACTION`. What follows it is not fenced, so none of these belongs in here.
    ///
    /// After any error, and after a call in it that was dropped, drop the transaction, and begin anew. It may have been
    /// rolled back already, and with it the claim: `commit` may answer `Ok` all the same, and what is written between is
    /// written for good, and not fenced. So it is after a deadlock on `MySQL` and `MariaDB`; and on every database where a
    /// `begin` on the transaction fails or is dropped, since sqlx 0.9 rolls back the whole of it then. On Postgres `commit`
    /// answers `Ok` after a statement that has failed, and nothing is written.
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

/// A transaction to be begun: see [`Fence::begin`](crate::Fence::begin). Await it.
///
/// # Default
///
/// | | value |
/// |---|---|
/// | lock limit | [`DEFAULT_LOCK_LIMIT`] |
/// | isolation | the database's default |
#[derive(Debug, Clone)]
#[must_use = "a transaction does not begin by itself: `.await` it"]
pub struct Begin<'p, DB: FencedDatabase> {
    token: FencingToken,
    pool: &'p Pool<DB>,
    resource: String,
    limit: Duration,
    isolation: Option<Isolation>,
}

impl<'p, DB: FencedDatabase> Begin<'p, DB> {
    pub(crate) const fn new(token: FencingToken, pool: &'p Pool<DB>, resource: String) -> Self {
        Self {
            token,
            pool,
            resource,
            limit: DEFAULT_LOCK_LIMIT,
            isolation: None,
        }
    }

    /// How long to wait while another transaction holds the fence of the resource. A holder that was paused with an
    /// open transaction keeps its successor waiting for so long, and no longer.
    ///
    /// On Postgres it holds for every other lock in this transaction, too. `MySQL` and `MariaDB` count whole seconds;
    /// it is rounded up there.
    ///
    /// To end a paused holder's transaction, so that its successor gets on, set `idle_in_transaction_session_timeout`
    /// (Postgres) or `idle_transaction_timeout` (`MariaDB`).
    pub const fn lock_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The isolation level. `SQLite` has one, the strictest, whatever this says.
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    async fn begin(self) -> Result<Transaction<'static, DB>, Error> {
        let tx = self.claimed().await?;
        observe::begun(&self.resource, self.token);
        Ok(tx)
    }

    /// Waits for a connection and for the lock.
    pub(crate) async fn claimed(&self) -> Result<Transaction<'static, DB>, Error> {
        resource::check(&self.resource)?;
        let begun = Instant::now();
        loop {
            let left = self.limit.saturating_sub(begun.elapsed());
            let attempt = attempt(
                self.pool.clone(),
                DB::begin(self.isolation, left),
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
                // Nothing was done in this transaction yet, and so it may as well begin anew.
                Some(Obstacle::Conflict) if begun.elapsed() < self.limit => {}
                Some(_) => {
                    observe::busy(&self.resource, self.token);
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
        let stale = resource::stale(self.token, current)?;
        observe::stale(&self.resource, &stale);
        Ok(stale)
    }
}

/// What became of a transaction that was begun.
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
            // What was the error is worth more than what follows from it.
            drop(tx.rollback().await);
            Err(error)
        }
    }
}

/// Runs it in a task, which goes on when nobody waits for it any more. sqlx does not know of a transaction whose beginning
/// was cut short, and gives its connection back to the pool: what is written there next would be confirmed, and rolled
/// back one day. On `MySQL` and `MariaDB` it may lose a connection whose statement was dropped while it was prepared.
async fn to_its_end<T: Send + 'static>(
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
    /// [`Error::Stale`] if a newer token has been there; [`Error::Busy`] if another transaction holds the fence for
    /// longer than the limit; [`Error::Name`] if the resource is empty, longer than 512 bytes, or has a NUL in it;
    /// [`Error::Sqlx`] if there is no connection, or no table `fences`.
    ///
    /// At the isolation levels above read committed a later statement, or the commit, may be answered with a
    /// serialization failure (Postgres 40001, `MariaDB` 1020 and 1213): begin anew. The claim itself is tried again
    /// here.
    ///
    /// # Cancel safety
    ///
    /// Under tokio a dropped call rolls back, wherever it is dropped, and its connection goes back to the pool as it was. It
    /// does so when what it waits for has come, or the time limit is over: until then it keeps its position in the pool's
    /// queue, or its connection.
    ///
    /// In another runtime a call that is dropped while the transaction itself begins does not roll back: sqlx 0.9 knows
    /// nothing of that transaction then, and its connection goes back to the pool with it. On `MySQL`, `MariaDB` and `SQLite`
    /// that connection may keep this time limit for locks, and on `MySQL` and `MariaDB` the pool may lose it.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.begin())
    }
}
