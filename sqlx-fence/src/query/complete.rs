//! Statements that sqlx has built.

use sqlx::query::Query;
use sqlx::{Arguments, Execute, IntoArguments, QueryBuilder};

use super::FencedQuery;
use crate::Error;
use crate::database::Completable;
use crate::fence::Fence;

/// `.fenced(&fence)` for what sqlx itself has built: `sqlx::query(..)`, `QueryBuilder`, and `sqlx::query!(..)` without
/// `RETURNING`, on Postgres and `SQLite`.
///
/// On `MySQL` use [`Fence::query`], and bind there: its placeholders have no numbers, and so the token has to be
/// bound between the other values.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold_sqlx::{Fence, FencedExt};
///
/// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
/// # let pool = options.connect("sqlite::memory:").await?;
/// # sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, fencing_token BIGINT NOT NULL DEFAULT 0)").execute(&pool).await?;
/// # sqlx::query("INSERT INTO orders (id, state) VALUES (42, 'new'), (43, 'new')").execute(&pool).await?;
/// let fence = Fence::try_from(7)?;
/// sqlx::query("UPDATE orders SET state = ? WHERE id = ?")
///     .bind("paid")
///     .bind(42)
///     .fenced(&fence)
///     .execute(&pool)
///     .await?;
///
/// let mut builder = sqlx::QueryBuilder::new("UPDATE orders SET state = ");
/// builder.push_bind("paid").push(" WHERE id IN (");
/// builder.separated(", ").push_bind(42).push_bind(43);
/// let done = builder.push(")").fenced(&fence).execute(&pool).await?;
/// assert_eq!(done.rows_affected(), 2);
/// # Ok(())
/// # }
/// ```
pub trait FencedExt {
    /// Its database.
    type Database: Completable;

    /// Puts it under a fence, as [`Fence::query`] does.
    fn fenced(self, fence: &Fence) -> FencedQuery<Self::Database>;
}

impl<DB, A> FencedExt for Query<'_, DB, A>
where
    DB: Completable,
    A: IntoArguments<DB>,
{
    type Database = DB;

    fn fenced(mut self, fence: &Fence) -> FencedQuery<DB> {
        let values = self.take_arguments();
        let persistent = self.persistent();
        let mut query = FencedQuery::new(fence.clone(), self.sql());
        query.persistent = persistent;
        match values {
            Ok(values) => {
                query.values = values.unwrap_or_default();
                query.given = Arguments::len(&query.values);
            }
            Err(error) => query.rewritten = Err(Error::Sqlx(sqlx::Error::Encode(error))),
        }
        query
    }
}

impl<DB> FencedExt for &mut QueryBuilder<DB>
where
    DB: Completable<Arguments: IntoArguments<DB>>,
{
    type Database = DB;

    fn fenced(self, fence: &Fence) -> FencedQuery<DB> {
        self.build().fenced(fence)
    }
}
