//! What the database needs: the column with the token, and the table with the fences of resources.
//!
//! Put [`COLUMN_TYPE`] and the `…_FENCES` into your migrations, or let [`add_column`] and [`create_fences`] do it at
//! start. Both may be called again and again, by many processes at once.
//!
//! On `MySQL` and `MariaDB` each of these statements commits the transaction that is open on its connection, and with it
//! what was done before.
//!
//! Never delete a row of `fences` while holders are at work: with it goes the memory of the newest token, and an older
//! one is let in.

use std::future::Future;

use sqlx::Acquire;

use crate::database::{Driver, FencedDatabase};
pub use crate::schema::{COLUMN_TYPE, MYSQL_FENCES, POSTGRES_FENCES, SQLITE_FENCES};
use crate::{DEFAULT_COLUMN, Error, name};

/// Creates the table `fences` if it is not there.
///
/// # Errors
///
/// [`Error::Sqlx`], for example if the right to create tables is missing.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` over `Acquire` is not general enough for a spawned task"
)]
pub fn create_fences<'a, 'c: 'a, A>(at: A) -> impl Future<Output = Result<(), Error>> + Send + 'a
where
    A: Acquire<'c, Database: FencedDatabase> + Send + 'a,
{
    async move {
        let mut connection = at.acquire().await?;
        Ok(<A::Database as Driver>::create_fences(&mut connection).await?)
    }
}

/// Adds the column [`DEFAULT_COLUMN`] to a table, `orders` or `shop.orders`, if it is not there. On Postgres, if it
/// is, no lock is waited for, and the role need not own the table.
///
/// Write the table's name as in a statement of the database. `Orders` is `orders` on Postgres, and `"Orders"` is not:
///
/// | | names with capitals, spaces, dots |
/// |---|---|
/// | Postgres | `"Orders"`, `shop."Orders"` |
/// | `SQLite` | any case is the same table; `"my orders"`, `main."my orders"` |
/// | `MySQL`, `MariaDB` | as the server compares case; `` `my orders` ``, `` shop.`my orders` `` |
///
/// # Errors
///
/// [`Error::ColumnType`] if the table has such a column and it is not of an integer type: as texts `'9'` is more than
/// `'10'`. [`Error::Name`] if the table's name is not one, or two with a dot between, of letters, digits and `_`, or in
/// quotes. [`Error::Sqlx`], for example if there is no such table.
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

/// As [`add_column`], with the name of [`Fence::with_column`](crate::Fence::with_column).
///
/// # Errors
///
/// As [`add_column`], and [`Error::Name`] for the column's name, too.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` over `Acquire` is not general enough for a spawned task"
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
        name::table(<A::Database as Driver>::DIALECT, table)?;
        name::column(column)?;
        let mut connection = at.acquire().await?;
        if exists::<A::Database>(&mut connection, table, column).await? {
            return Ok(());
        }
        let added = <A::Database as Driver>::add_column(&mut connection, table, column).await;
        let Err(error) = added else {
            return Ok(());
        };
        // Another process may have added it in the meantime. An error of the check follows from the first one.
        match exists::<A::Database>(&mut connection, table, column).await {
            Ok(true) => Ok(()),
            Err(other @ Error::ColumnType { .. }) => Err(other),
            _ => Err(error.into()),
        }
    }
}

/// Whether there is such a column; an error if there is one of another type.
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
