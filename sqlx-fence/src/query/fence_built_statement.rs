//! Statements that sqlx has built.

use sqlx::query::{Map, Query, QueryAs, QueryScalar};
use sqlx::{Arguments, Database, Execute, FromRow, IntoArguments, QueryBuilder};

use super::queries_of_fence::first;
use super::{Decode, FencedQuery};
use crate::Error;
use crate::database::Completable;
use crate::fence::Fence;

/// Adds the method `.fenced(&fence)` to statements that sqlx has built, on Postgres and `SQLite`.
///
/// | built by | `.fenced(&fence)` |
/// |---|---|
/// | `query`, `query_as`, `query_scalar` | yes |
/// | `QueryBuilder`, its `build`, `build_query_as`, `build_query_scalar` | yes |
/// | `query!` without `RETURNING` | yes |
/// | `query!`, `query_as!`, `query_scalar!` with `RETURNING`, and everything after `.map` or `.try_map` | no |
///
/// The calls in the last row create sqlx's `Map`, whose closure is private. Use `query_as::<_, T>(..)` or
/// `query_scalar(..)` instead, and map the fetched rows.
///
/// On `MySQL` and `MariaDB` use [`Fence::query`], [`Fence::query_as`] or [`Fence::query_scalar`], and bind the values
/// there. The placeholders of these databases are not numbered, so the token must be bound between the other values.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold_sqlx::{Error, Fence, FencedExt};
///
/// #[derive(Debug, PartialEq, sqlx::FromRow)]
/// struct Order {
///     id: i64,
///     state: String,
/// }
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
///
/// // With typed rows, a stale write also returns an error, not `None`.
/// let ship = "UPDATE orders SET state = 'shipped' WHERE id = ? RETURNING id, state";
/// let order: Order = sqlx::query_as(ship).bind(42).fenced(&fence).fetch_one(&pool).await?;
/// assert_eq!(order, Order { id: 42, state: "shipped".to_owned() });
///
/// let late = sqlx::query_as::<_, Order>(ship).bind(42).fenced(&Fence::try_from(6)?);
/// assert!(matches!(late.fetch_optional(&pool).await, Err(Error::Stale(_))));
///
/// let deleted: Vec<i64> = sqlx::query_scalar("DELETE FROM orders WHERE state = ? RETURNING id")
///     .bind("shipped")
///     .fenced(&fence)
///     .fetch_all(&pool)
///     .await?;
/// assert_eq!(deleted, [42]);
/// # Ok(())
/// # }
/// ```
pub trait FencedExt: Sized {
    /// Adds a fence to the statement, like [`Fence::query`].
    fn fenced(
        self,
        fence: &Fence,
    ) -> FencedQuery<<Self as Fenceable>::Database, <Self as Fenceable>::Output>
    where
        Self: Fenceable,
    {
        self.under(fence)
    }
}

// The trait is also implemented for types that are not `Fenceable`, so that the compiler explains why they are not.
impl<DB: Database, A> FencedExt for Query<'_, DB, A> {}
impl<DB: Database, O, A> FencedExt for QueryAs<'_, DB, O, A> {}
impl<DB: Database, O, A> FencedExt for QueryScalar<'_, DB, O, A> {}
impl<DB: Database, F, A> FencedExt for Map<'_, DB, F, A> {}
impl<DB: Database> FencedExt for &mut QueryBuilder<DB> {}

/// The types that support [`FencedExt::fenced`].
///
/// sqlx's `Map` does not implement this trait, because its closure is private.
#[diagnostic::on_unimplemented(
    message = "`.fenced()` does not apply to `{Self}`",
    label = "cannot be fenced",
    note = "`query!`, `query_as!` and `query_scalar!` with RETURNING, `.map` and `.try_map` create a `Map`, whose closure is private: write `query_as::<_, T>(..)` or `query_scalar(..)` and map the fetched rows"
)]
pub trait Fenceable {
    /// The database of the statement.
    type Database: Completable;
    /// The type of the rows that the statement returns.
    type Output;

    #[doc(hidden)]
    fn under(self, fence: &Fence) -> FencedQuery<Self::Database, Self::Output>;
}

impl<DB, A> Fenceable for Query<'_, DB, A>
where
    DB: Completable,
    A: Send + IntoArguments<DB>,
{
    type Database = DB;
    type Output = DB::Row;

    fn under(self, fence: &Fence) -> FencedQuery<DB> {
        completed(self, fence, Ok)
    }
}

impl<'q, DB, O, A> Fenceable for QueryAs<'q, DB, O, A>
where
    DB: Completable,
    O: Send + for<'r> FromRow<'r, DB::Row>,
    A: 'q + Send + IntoArguments<DB>,
{
    type Database = DB;
    type Output = O;

    fn under(self, fence: &Fence) -> FencedQuery<DB, O> {
        completed(self, fence, |row| O::from_row(&row))
    }
}

impl<'q, DB, O, A> Fenceable for QueryScalar<'q, DB, O, A>
where
    DB: Completable,
    O: Send,
    (O,): for<'r> FromRow<'r, DB::Row>,
    A: 'q + Send + IntoArguments<DB>,
{
    type Database = DB;
    type Output = O;

    fn under(self, fence: &Fence) -> FencedQuery<DB, O> {
        completed(self, fence, |row| first::<DB, O>(&row))
    }
}

impl<DB> Fenceable for &mut QueryBuilder<DB>
where
    DB: Completable<Arguments: IntoArguments<DB>>,
{
    type Database = DB;
    type Output = DB::Row;

    fn under(self, fence: &Fence) -> FencedQuery<DB> {
        self.build().under(fence)
    }
}

fn completed<'q, DB: Completable, O>(
    mut built: impl Execute<'q, DB>,
    fence: &Fence,
    decode: Decode<DB, O>,
) -> FencedQuery<DB, O> {
    let values = built.take_arguments();
    let persistent = built.persistent();
    let mut query = FencedQuery::new(fence.clone(), built.sql(), decode);
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
