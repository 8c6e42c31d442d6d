//! Single statements under a fence.

mod complete;
mod entry;
mod outcome;
mod ready;
mod scope;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use sqlx::{Acquire, Arguments, Database, Encode, SqlStr, Type};

pub use self::complete::{Fenceable, FencedExt};
use self::outcome::Ask;
use self::ready::Ready;
use crate::Error;
use crate::database::FencedDatabase;
use crate::fence::Fence;
use crate::rewrite::{Dialect, Rewritten, rewritten};

/// An `UPDATE` or `DELETE` with its fence: see [`Fence::query`]. `O` is the type of the rows that it returns.
///
/// # Where it runs
///
/// On everything that implements sqlx's [`Acquire`]: `&pool`, `&mut connection`, `&mut *transaction`. A fenced
/// statement may need a second one on the same connection, and an `impl PgExecutor` allows only one. A function of
/// yours takes `impl Acquire`, or `&mut PgConnection`:
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
/// /// Takes a connection or a transaction, and can run in a spawned task with either.
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
/// There is no stream of rows. Only the end of the rows shows whether a newer holder has written them, and
/// [`expect_rows`](Self::expect_rows) may still roll everything back there. Rows of a stream would be used before.
#[must_use = "a statement does nothing itself: call `execute`"]
pub struct FencedQuery<DB: FencedDatabase, O = <DB as Database>::Row> {
    fence: Fence,
    sql: SqlStr,
    /// What is wrong stays until the statement is executed.
    rewritten: Result<Arc<Rewritten>, Error>,
    values: DB::Arguments,
    /// The probe's own values, where it takes only some.
    probed: DB::Arguments,
    given: usize,
    expected: Option<u64>,
    persistent: bool,
    decode: Decode<DB, O>,
}

/// Reads a row as the type that is wanted.
type Decode<DB, O> = fn(<DB as Database>::Row) -> Result<O, sqlx::Error>;

#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` over `Acquire` is not general enough for a spawned task"
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

    /// Names the table that a `MySQL` statement over joined tables writes to, as the statement calls it: by its alias
    /// if it has one. You vouch that the columns which are assigned without a table's name are that table's.
    ///
    /// Call it before [`bind`](Self::bind).
    pub fn target(mut self, table: &str) -> Self {
        self.rewritten = match self.given {
            0 => find::<DB>(&self.fence, Some(table), &self.sql),
            given => Err(Error::Binds { expected: 0, given }),
        };
        self
    }

    /// Binds the next value of the statement, as in sqlx. The token's places are not among them.
    pub fn bind<'t, T: Encode<'t, DB> + Type<DB>>(mut self, value: T) -> Self {
        if let Err(error) = self.add(value) {
            self.rewritten = Err(error);
        }
        self
    }

    /// The statement must write this many rows. It runs in a transaction of its own (within yours in a savepoint,
    /// `leasehold_rows`), which is rolled back if it does not: see [`Error::PartiallyStale`], [`Error::NotFound`],
    /// [`Error::TooMany`].
    pub const fn expect_rows(mut self, rows: u64) -> Self {
        self.expected = Some(rows);
        self
    }

    /// Executes the statement, and answers sqlx's own result.
    ///
    /// That no row was written is no error, unless it is because of a newer token. One round trip when a row was
    /// written; a second, to find out why, when none was. Without [`expect_rows`](Self::expect_rows) a statement for
    /// several rows writes those that are not stale.
    ///
    /// On `MariaDB` a statement with `RETURNING` is refused, since its answer does not tell how many rows were written:
    /// call [`fetch_all`](Self::fetch_all).
    ///
    /// On `MySQL` and `MariaDB`, in a `REPEATABLE READ` transaction that has read before, why nothing was written is asked
    /// of sub-queries in the condition as they were at that read. So no row, or [`Error::NotFound`], may be answered in
    /// place of [`Error::Stale`]; nothing that is newer is overwritten.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if none was written and a newer holder has written one of them;
    /// [`Error::Rewrite`] and [`Error::Binds`] before anything is sent; with `expect_rows` also
    /// [`Error::PartiallyStale`], [`Error::NotFound`] and [`Error::TooMany`]; [`Error::Sqlx`] for the rest.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have written. Executing it again with the same token is as safe as the statement itself is.
    ///
    /// With [`expect_rows`](Self::expect_rows) there is a transaction, and sqlx 0.9 does not know of one that is dropped
    /// while it begins: the connection goes on in it, in the pool as well. Where calls are dropped, run such statements
    /// in a task of their own, or within [`Fence::begin`](crate::Fence::begin). Within a transaction a dropped call may have
    /// written another number of rows than was expected: drop the transaction, too.
    ///
    /// On `MySQL` and `MariaDB` sqlx 0.9 takes one answer for another on a connection on which a statement is dropped while
    /// it is prepared, fenced or not: the next call on it fails, or waits for ever, and the pool may not get it back. Where
    /// calls are dropped, run them in a task of their own there.
    pub fn execute<'a, 'c: 'a, A>(
        self,
        at: A,
    ) -> impl Future<Output = Result<DB::QueryResult, Error>> + Send + 'a
    where
        A: Acquire<'c, Database = DB> + Send + 'a,
        O: 'a,
    {
        async move { self.ready(false)?.run(at, Ask::execute(), Ok).await }
    }

    /// Executes a statement with `RETURNING`, and returns its rows: none if no row was written and none is stale.
    ///
    /// Postgres and `SQLite` have `RETURNING`, `MariaDB` for `DELETE`.
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute), and [`Error::Rewrite`] if it has no `RETURNING`; [`Error::Sqlx`] if a row does not
    /// have the type that is wanted. The rows are written by then, unless there is
    /// [`expect_rows`](Self::expect_rows) or a transaction of yours to roll back.
    ///
    /// # Cancel safety
    ///
    /// As [`execute`](Self::execute).
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
            let read = move |rows: Vec<DB::Row>| rows.into_iter().map(decode).collect();
            self.ready(true)?.run(at, Ask::fetch(), read).await
        }
    }

    /// As [`fetch_all`](Self::fetch_all), and answers the first row, if there is one.
    ///
    /// # Errors
    ///
    /// As [`fetch_all`](Self::fetch_all).
    ///
    /// # Cancel safety
    ///
    /// As [`execute`](Self::execute).
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

    /// As [`fetch_optional`](Self::fetch_optional), and that there is none is an error.
    ///
    /// # Errors
    ///
    /// As [`fetch_all`](Self::fetch_all), and [`Error::NotFound`] if no row was written and none is stale.
    ///
    /// # Cancel safety
    ///
    /// As [`execute`](Self::execute).
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
        // What was wrong before is told first.
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
            return Err(outcome::no_rows(self.sql.as_str()));
        }
        // A result with rows has no count there: rows that were written would be told as stale, or as not found.
        if !returns_rows && rewritten.returns_rows && DB::DIALECT == Dialect::MySql {
            return Err(outcome::uncounted(self.sql.as_str()));
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
    rewritten(DB::DIALECT, fence.column(), target, sql.as_str())
        .map_err(|refusal| refusal.into_error(sql.as_str()))
}

impl<DB: FencedDatabase, O> fmt::Debug for FencedQuery<DB, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be secrets.
        f.debug_struct("FencedQuery")
            .field("fence", &self.fence)
            .field("sql", &self.sql.as_str())
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}
