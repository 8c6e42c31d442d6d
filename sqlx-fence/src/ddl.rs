//! Creates the required schema: the token column, the table with the fences of resources, and the table with recorded
//! responses.
//!
//! Add [`COLUMN_TYPE`], the `…_FENCES` and the `…_IDEMPOTENCY_RECORDS` to your migrations, or call [`add_column`],
//! [`create_fences`] and [`create_idempotency_records`] at startup. You can call these functions repeatedly, and from
//! many processes concurrently.
//!
//! On `MySQL` and `MariaDB` each of these statements commits an open transaction of its connection.
//!
//! Never delete a row of `leasehold_fences` while holders are running. The row stores the last seen token. Without the
//! row, the database accepts an older token.
//!
//! # Names and schemas
//!
//! The tables of this crate are `leasehold_locks`, `leasehold_fences` and `leasehold_idempotency_records`. They are in the
//! schema that the connection uses. To use another one, name it in the URL:
//! `postgres://host/shop?options=-csearch_path%3Dlocks`, or `mysql://host/locks`, where each schema is a database. On
//! Postgres, if another schema of the database has the table already, create the second one in a migration. Programs
//! that share the tables, and must not share their locks, set a
//! [`prefix`](leasehold_core::LockManagerBuilder::prefix).

use std::future::Future;

use sqlx::Acquire;

use crate::database::{Driver, FencedDatabase};
pub use crate::table_definitions::{
    COLUMN_TYPE, MYSQL_FENCES, MYSQL_IDEMPOTENCY_RECORDS, POSTGRES_FENCES,
    POSTGRES_IDEMPOTENCY_RECORDS, SQLITE_FENCES, SQLITE_IDEMPOTENCY_RECORDS,
};
use crate::{DEFAULT_COLUMN, Error, table_and_column_names};
use leasehold_sql::catalog::ensure;
pub use leasehold_sql::ddl::{MYSQL_LOCKS, POSTGRES_LOCKS, SQLITE_LOCKS, create_locks};

/// Creates the table `leasehold_fences` if it does not exist.
///
/// # Errors
///
/// - [`Error::Table`]: the existing table has other columns or a storage engine without transactions, or on Postgres, it is
///   in a schema that this role does not use.
/// - [`Error::Sqlx`]: the database failed, for example because the role may not create tables.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` over `Acquire` cannot be spawned"
)]
pub fn create_fences<'a, 'c: 'a, A>(at: A) -> impl Future<Output = Result<(), Error>> + Send + 'a
where
    A: Acquire<'c, Database: FencedDatabase> + Send + 'a,
{
    async move {
        let mut connection = at.acquire().await?;
        Ok(ensure::<A::Database>(&mut connection, A::Database::FENCES).await?)
    }
}

/// Creates the table `leasehold_idempotency_records` of [`SqlIdempotencyStore`](crate::SqlIdempotencyStore) if it does
/// not exist.
///
/// # Errors
///
/// - [`Error::Table`]: the existing table has other columns or a storage engine without transactions, or on Postgres, it is
///   in a schema that this role does not use.
/// - [`Error::Sqlx`]: the database failed, for example because the role may not create tables.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` over `Acquire` cannot be spawned"
)]
pub fn create_idempotency_records<'a, 'c: 'a, A>(
    at: A,
) -> impl Future<Output = Result<(), Error>> + Send + 'a
where
    A: Acquire<'c, Database: FencedDatabase> + Send + 'a,
{
    async move {
        let mut connection = at.acquire().await?;
        Ok(ensure::<A::Database>(&mut connection, A::Database::IDEMPOTENCY_RECORDS).await?)
    }
}

/// Adds the column [`DEFAULT_COLUMN`] to a table, such as `orders` or `shop.orders`, if it does not exist. On Postgres,
/// if the column exists, the call does not wait for a lock and the role need not own the table.
///
/// Write the name of the table as in a statement of the database. For example, on Postgres `Orders` is the same table
/// as `orders`, but `"Orders"` is another one:
///
/// | database | names with capitals, spaces, dots |
/// |---|---|
/// | Postgres | `"Orders"`, `shop."Orders"` |
/// | `SQLite` | any case is the same table; `"my orders"`, `main."my orders"` |
/// | `MySQL`, `MariaDB` | as the server compares case; `` `my orders` ``, `` shop.`my orders` `` |
///
/// # Errors
///
/// - [`Error::ColumnType`]: the column exists but does not have an integer type. As text, `'9'` is larger than `'10'`.
/// - [`Error::Name`]: the name of the table is invalid. A valid name is one name, or two names with a dot between them.
///   Each of these names contains letters, digits and `_`, or is in quotes.
/// - [`Error::Sqlx`]: the database failed, for example because the table does not exist.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
/// # let pool = options.connect("sqlite::memory:").await?;
/// # sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY)").execute(&pool).await?;
/// leasehold_sqlx::ddl::add_column(&pool, "orders").await?;
/// leasehold_sqlx::ddl::add_column(&pool, "orders").await?; // changes nothing
/// # sqlx::query("SELECT fencing_token FROM orders").execute(&pool).await?;
/// # Ok(())
/// # }
/// ```
pub fn add_column<'a, 'c: 'a, A>(
    at: A,
    table: &'a str,
) -> impl Future<Output = Result<(), Error>> + Send + 'a
where
    A: Acquire<'c, Database: FencedDatabase> + Send + 'a,
{
    add_column_named(at, table, DEFAULT_COLUMN)
}

/// Adds a token column with another name, for [`Fence::with_column`](crate::Fence::with_column). See [`add_column`].
///
/// # Errors
///
/// Returns the errors of [`add_column`], and [`Error::Name`] if the name of the column is invalid.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` over `Acquire` cannot be spawned"
)]
pub fn add_column_named<'a, 'c: 'a, A>(
    at: A,
    table: &'a str,
    column: &'a str,
) -> impl Future<Output = Result<(), Error>> + Send + 'a
where
    A: Acquire<'c, Database: FencedDatabase> + Send + 'a,
{
    async move {
        table_and_column_names::table(<A::Database as Driver>::DIALECT, table)?;
        table_and_column_names::column(column)?;
        let mut connection = at.acquire().await?;
        if exists::<A::Database>(&mut connection, table, column).await? {
            return Ok(());
        }
        let added = <A::Database as Driver>::add_column(&mut connection, table, column).await;
        let Err(error) = added else {
            return Ok(());
        };
        // Another process may have added the column concurrently. If the check fails, the first error is the cause.
        match exists::<A::Database>(&mut connection, table, column).await {
            Ok(true) => Ok(()),
            Err(other @ Error::ColumnType { .. }) => Err(other),
            _ => Err(error.into()),
        }
    }
}

/// Returns whether the column exists, or an error if it has another type.
async fn exists<DB: FencedDatabase>(
    connection: &mut DB::Connection,
    table: &str,
    column: &str,
) -> Result<bool, Error> {
    match DB::column_type(connection, table, column).await? {
        None => Ok(false),
        Some(found) if found.is_integer => Ok(true),
        Some(found) => Err(Error::ColumnType {
            table: table.to_owned(),
            column: column.to_owned(),
            found: found.name,
        }),
    }
}
