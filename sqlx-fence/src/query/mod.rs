//! Fenced single statements.

mod fence_built_statement;
mod queries_of_fence;
mod rewritten_query;
mod rollback_scope;
mod write_outcome;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use sqlx::{Acquire, Arguments, Database, Either, Encode, SqlStr, Type};

pub use self::fence_built_statement::{Fenceable, FencedExt};
pub(crate) use self::rewritten_query::Ready;
pub(crate) use self::write_outcome::Answers;
use crate::Error;
use crate::database::FencedDatabase;
use crate::fence::Fence;
use crate::rewrite::{Asked, Dialect, Plan, Refusal, Rewritten, planned};

/// A fenced `UPDATE` or `DELETE`: see [`Fence::query`]. `O` is the type of the rows that it returns.
///
/// # Where it runs
///
/// A fenced statement runs on everything that implements sqlx's [`Acquire`]: `&pool`, `&mut connection`,
/// `&mut *transaction`. A fenced statement may send a second statement on the same connection, but an `impl PgExecutor`
/// allows only one. In your own functions take `impl Acquire` or `&mut PgConnection`:
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # mod of_postgres {
/// use leasehold_sqlx::{Error, Fence};
/// use sqlx::{Acquire, PgConnection, Postgres};
///
/// /// Takes a pool, a connection, or a transaction.
/// async fn pay<'c>(
///     at: impl Acquire<'c, Database = Postgres> + Send,
///     fence: &Fence,
///     id: i64,
/// ) -> Result<(), Error> {
///     let paid = "UPDATE orders SET state = 'paid' WHERE id = $1";
///     fence.query(paid).bind(id).execute(at).await?;
///     Ok(())
/// }
///
/// /// Takes a connection or a transaction. Both can be used in a spawned task.
/// async fn ship(at: &mut PgConnection, fence: &Fence, id: i64) -> Result<(), Error> {
///     let shipped = "UPDATE orders SET state = 'shipped' WHERE id = $1";
///     fence.query(shipped).bind(id).execute(at).await?;
///     Ok(())
/// }
///
/// # #[allow(dead_code)]
/// async fn both(pool: &sqlx::PgPool, fence: &Fence) -> Result<(), Error> {
///     pay(pool, fence, 42).await?;
///     let mut tx = fence.begin(pool, "order:42").await?;
///     pay(&mut *tx, fence, 42).await?;
///     ship(&mut tx, fence, 42).await?;
///     tx.commit().await?;
///     Ok(())
/// }
/// # }
/// ```
///
/// # No `fetch`
///
/// `FencedQuery` does not have a method that streams rows. A call can detect only after the last row that a newer
/// holder has written some of the rows. [`expect_rows`](Self::expect_rows) may even roll back then, but the caller
/// would already have used streamed rows.
#[must_use = "a statement does nothing itself: call `execute`"]
pub struct FencedQuery<DB: FencedDatabase, O = <DB as Database>::Row> {
    fence: Fence,
    sql: SqlStr,
    /// The rewritten statement, or the error that executing it returns.
    rewritten: Result<Arc<Rewritten>, Error>,
    values: DB::Arguments,
    /// The values of the probe, if it uses only some of the statement's values.
    probed: DB::Arguments,
    given: usize,
    expected: Option<u64>,
    persistent: bool,
    decode: Decode<DB, O>,
}

/// Decodes a row.
type Decode<DB, O> = fn(<DB as Database>::Row) -> Result<O, sqlx::Error>;

#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` over `Acquire` cannot be spawned"
)]
impl<DB: FencedDatabase, O> FencedQuery<DB, O> {
    pub(crate) fn new(fence: Fence, sql: SqlStr, decode: Decode<DB, O>) -> Self {
        let rewritten = find::<DB>(&fence, None, &sql);
        Self {
            fence,
            sql,
            rewritten,
            values: DB::Arguments::default(),
            probed: DB::Arguments::default(),
            given: 0,
            expected: None,
            persistent: true,
            decode,
        }
    }

    /// Sets the table that a `MySQL` statement over joined tables writes to. Use the alias of the table if it has one.
    /// All columns that are assigned without a table name must belong to this table. The crate does not check this.
    ///
    /// Call this method before [`bind`](Self::bind).
    pub fn target(mut self, table: &str) -> Self {
        self.rewritten = match self.given {
            0 => find::<DB>(&self.fence, Some(table), &self.sql),
            given => Err(Error::Binds { expected: 0, given }),
        };
        self
    }

    /// Binds the next value of the statement, as in sqlx. The token is bound automatically.
    pub fn bind<'t, T: Encode<'t, DB> + Type<DB>>(mut self, value: T) -> Self {
        if let Err(error) = self.add(value) {
            self.rewritten = Err(error);
        }
        self
    }

    /// Requires the statement to write exactly `rows` rows. The statement then runs in its own transaction, or in a
    /// savepoint named `leasehold_rows` inside of your transaction. If the statement writes another number of rows, the
    /// call rolls it back: see [`Error::PartiallyStale`], [`Error::NotFound`] and [`Error::TooMany`].
    pub const fn expect_rows(mut self, rows: u64) -> Self {
        self.expected = Some(rows);
        self
    }

    /// Executes the statement, and returns sqlx's result.
    ///
    /// If the statement writes no row, `execute` returns an error only if a newer token is the reason, or if
    /// [`expect_rows`](Self::expect_rows) requires rows. If the statement writes a row, the call needs one round trip.
    /// If the statement writes no row, a second round trip finds the reason. Without `expect_rows`, a statement for
    /// several rows writes those that are not stale.
    ///
    /// On `MariaDB` this method refuses a statement with `RETURNING`, because the result does not contain the number of
    /// written rows: call [`fetch_all`](Self::fetch_all).
    ///
    /// On `MySQL` and `MariaDB`, the second round trip can use old data if a `REPEATABLE READ` transaction has read
    /// before. The second statement then evaluates sub-queries in the condition with the data of that read. So this
    /// method may return a result with no rows, or [`Error::NotFound`], instead of [`Error::Stale`]. The statement
    /// never overwrites newer data.
    ///
    /// # Errors
    ///
    /// - [`Error::Stale`]: the statement wrote no row, and a newer holder has written at least one of the matching
    ///   rows.
    /// - [`Error::Rewrite`] and [`Error::Binds`]: nothing was sent.
    /// - [`Error::PartiallyStale`], [`Error::NotFound`] and [`Error::TooMany`]: only with `expect_rows`.
    /// - [`Error::Sqlx`]: the database or the driver failed.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have written rows. Executing the statement again with the same token is as safe as without a
    /// fence.
    ///
    /// With [`expect_rows`](Self::expect_rows) the statement runs in a transaction. If the call is dropped while the
    /// transaction begins, sqlx 0.9 does not roll back. The connection then returns to the pool with the transaction
    /// still open. If calls can be dropped, run such statements in their own task, or inside of
    /// [`Fence::begin`](crate::Fence::begin). In your own transaction, a dropped call may have written another number
    /// of rows than expected: drop the transaction, too.
    ///
    /// On `MySQL` and `MariaDB`, dropping any statement while it is prepared can break its connection in sqlx 0.9,
    /// because sqlx then mixes up responses. The next call on the connection fails or waits forever, and the pool may
    /// lose the connection. If calls can be dropped, run them in their own task.
    pub fn execute<'a, 'c: 'a, A>(
        self,
        at: A,
    ) -> impl Future<Output = Result<DB::QueryResult, Error>> + Send + 'a
    where
        A: Acquire<'c, Database = DB> + Send + 'a,
        O: 'a,
    {
        let read = |answers: Answers<DB>| {
            let mut result = DB::QueryResult::default();
            result.extend(answers.into_iter().filter_map(Either::left));
            Ok(result)
        };
        async move {
            let ready = self.ready(false)?;
            ready.run(&mut *at.acquire().await?, read).await
        }
    }

    /// Executes a statement with `RETURNING`, and returns its rows. Returns no rows if the statement wrote no row and
    /// no row is stale.
    ///
    /// Postgres and `SQLite` support `RETURNING`. `MariaDB` supports it only for `DELETE`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`execute`](Self::execute), and [`Error::Rewrite`] if the statement has no `RETURNING`.
    ///
    /// Returns [`Error::Sqlx`] if a row cannot be decoded as `O`. The statement has then already written the rows. Only
    /// [`expect_rows`](Self::expect_rows) or your own transaction can roll them back.
    ///
    /// # Cancel safety
    ///
    /// See [`execute`](Self::execute).
    pub fn fetch_all<'a, 'c: 'a, A>(
        self,
        at: A,
    ) -> impl Future<Output = Result<Vec<O>, Error>> + Send + 'a
    where
        A: Acquire<'c, Database = DB> + Send + 'a,
        O: Send + 'a,
    {
        async move {
            let decode = self.decode;
            let read = move |answers: Answers<DB>| {
                let rows = answers.into_iter().filter_map(Either::right);
                rows.map(decode).collect()
            };
            let ready = self.ready(true)?;
            ready.run(&mut *at.acquire().await?, read).await
        }
    }

    /// Executes a statement with `RETURNING`, and returns the first row, if there is one.
    ///
    /// # Errors
    ///
    /// See [`fetch_all`](Self::fetch_all).
    ///
    /// # Cancel safety
    ///
    /// See [`execute`](Self::execute).
    pub fn fetch_optional<'a, 'c: 'a, A>(
        self,
        at: A,
    ) -> impl Future<Output = Result<Option<O>, Error>> + Send + 'a
    where
        A: Acquire<'c, Database = DB> + Send + 'a,
        O: Send + 'a,
    {
        let rows = self.fetch_all(at);
        async move { Ok(rows.await?.into_iter().next()) }
    }

    /// Executes a statement with `RETURNING`, and returns the first row.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`fetch_all`](Self::fetch_all), and [`Error::NotFound`] if the statement wrote no row and
    /// no row is stale.
    ///
    /// # Cancel safety
    ///
    /// See [`execute`](Self::execute).
    pub fn fetch_one<'a, 'c: 'a, A>(
        self,
        at: A,
    ) -> impl Future<Output = Result<O, Error>> + Send + 'a
    where
        A: Acquire<'c, Database = DB> + Send + 'a,
        O: Send + 'a,
    {
        let row = self.fetch_optional(at);
        async move {
            row.await?.ok_or(Error::NotFound {
                expected: 1,
                applied: 0,
            })
        }
    }

    fn add<'t, T: Encode<'t, DB> + Type<DB>>(&mut self, value: T) -> Result<(), Error> {
        // Ignore the error of the rewrite, because executing the statement returns it.
        let Ok(rewritten) = &self.rewritten else {
            return Ok(());
        };
        let given = self.given;
        let failed = |error| Error::Sqlx(sqlx::Error::Encode(error));
        for _ in rewritten.interleaved.iter().filter(|it| **it == given) {
            DB::add(&mut self.values, self.fence.token().get())?;
        }
        if rewritten
            .probed
            .as_ref()
            .is_some_and(|it| it.contains(&given))
        {
            self.probed.add(&value).map_err(failed)?;
        }
        self.values.add(value).map_err(failed)?;
        self.given += 1;
        Ok(())
    }

    fn ready(self, returns_rows: bool) -> Result<Ready<DB>, Error> {
        let rewritten = self.rewritten?;
        if self.given != rewritten.values {
            return Err(Error::Binds {
                expected: rewritten.values,
                given: self.given,
            });
        }
        if returns_rows && !rewritten.returns_rows {
            return Err(write_outcome::no_rows(self.sql.as_str()));
        }
        // On MySQL a result with rows does not contain a count, so the call would report written rows as stale or not
        // found.
        if !returns_rows && rewritten.returns_rows && DB::DIALECT == Dialect::MySql {
            return Err(write_outcome::uncounted(self.sql.as_str()));
        }
        let token = self.fence.token();
        let mut values = self.values;
        let places = rewritten.interleaved.iter().filter(|it| **it == self.given);
        let at_the_end = match rewritten.interleaved.is_empty() {
            true => 1,
            false => places.count(),
        };
        for _ in 0..at_the_end {
            DB::add(&mut values, token.get())?;
        }
        let probed = match rewritten.probed {
            Some(_) => {
                let mut probed = self.probed;
                DB::add(&mut probed, token.get())?;
                probed
            }
            None => values.clone(),
        };
        Ok(Ready {
            rewritten,
            token,
            values,
            probed,
            expected: self.expected,
            persistent: self.persistent,
        })
    }
}

fn find<DB: FencedDatabase>(
    fence: &Fence,
    target: Option<&str>,
    sql: &SqlStr,
) -> Result<Arc<Rewritten>, Error> {
    let asked = Asked {
        dialect: DB::DIALECT,
        column: fence.column(),
        target,
        sql: sql.as_str(),
        is_bound: false,
    };
    let refusal = match planned(asked) {
        Ok(Plan::Write(rewritten)) => return Ok(rewritten),
        Ok(_) => Refusal::new(0, "it is a read", "read in `fence.begin(..)`"),
        Err(refusal) => refusal,
    };
    Err(refusal.into_error(sql.as_str()))
}

impl<DB: FencedDatabase, O> fmt::Debug for FencedQuery<DB, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the values, because they may be secrets.
        f.debug_struct("FencedQuery")
            .field("fence", &self.fence)
            .field("sql", &self.sql.as_str())
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}
