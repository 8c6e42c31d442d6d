//! Pools that fence every write.

mod executor;
mod statement_decision;
mod table_lock_keys;
mod transaction;

use std::borrow::Cow;
use std::sync::Arc;

use sqlx::Pool;

use self::statement_decision::Settings;
use self::table_lock_keys::Tables;
pub use self::transaction::{FencedBegin, FencedConnection, FencedTransaction};
use crate::database::FencedDatabase;
use crate::{DEFAULT_COLUMN, Error, table_and_column_names};

#[doc = include_str!("../fenced_pool.md")]
#[derive(Debug)]
pub struct FencedPool<DB: FencedDatabase> {
    pool: Pool<DB>,
    settings: Arc<Settings>,
}

impl<DB: FencedDatabase> FencedPool<DB> {
    /// Wraps a pool. The token column has the name [`DEFAULT_COLUMN`](crate::DEFAULT_COLUMN).
    #[must_use]
    pub fn new(pool: Pool<DB>) -> Self {
        let (column, tables) = (DEFAULT_COLUMN.into(), Tables::default());
        let settings = Arc::new(Settings { column, tables });
        Self { pool, settings }
    }

    /// Maps a table to the key of its lock: an exact key, or the beginning of keys and `*`.
    ///
    /// A write to the table then uses the innermost lock whose key matches. Map the tables if code holds several locks,
    /// because the rows of a table must always be fenced with tokens of the same key.
    ///
    /// Write the name of the table as in a statement. A name without a schema matches the table in every schema. On
    /// Postgres, names without quotes match in lower case. On the other databases the case does not matter.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Name`] if the name of the table is invalid or already mapped. Also returns it if the pattern is
    /// empty, or has a `*` that is not at the end.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold_sqlx::Error> {
    /// use leasehold::LockManager;
    /// use leasehold_sqlx::{Error, FencedPool, ddl};
    ///
    /// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
    /// # let pool = options.connect("sqlite::memory:").await?;
    /// # for table in ["orders", "accounts"] {
    /// #     let create = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, amount INTEGER)");
    /// #     sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(&pool).await?;
    /// #     ddl::add_column(&pool, table).await?;
    /// # }
    /// let pool = FencedPool::new(pool)
    ///     .map_table("orders", "order:*")?
    ///     .map_table("accounts", "account:*")?;
    ///
    /// let locks = LockManager::in_process();
    /// let order = locks.lock("order:42").acquire().await?;
    /// let account = locks.lock("account:7").acquire().await?;
    /// order.run(async |_| {
    ///     account.run(async |_| {
    ///         // Each write carries the token of its own lock.
    ///         sqlx::query("UPDATE orders SET amount = 5 WHERE id = 42").execute(&pool).await?;
    ///         sqlx::query("UPDATE accounts SET amount = 5 WHERE id = 7").execute(&pool).await?;
    ///         Ok::<_, Error>(())
    ///     })
    ///     .await?;
    ///     let alone = sqlx::query("UPDATE accounts SET amount = 5 WHERE id = 7").execute(&pool).await;
    ///     assert!(matches!(alone.map_err(Error::from), Err(Error::WrongKey { .. })));
    ///     Ok::<_, Error>(())
    /// })
    /// .await
    /// # }
    /// ```
    pub fn map_table(mut self, table: &str, key: &str) -> Result<Self, Error> {
        let settings = Arc::make_mut(&mut self.settings);
        settings.tables.add(DB::DIALECT, table, key)?;
        Ok(self)
    }

    /// Sets the name of the token column: see [`Fence::with_column`](crate::Fence::with_column).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Name`] if the name is invalid.
    pub fn with_column(mut self, column: impl Into<Cow<'static, str>>) -> Result<Self, Error> {
        let column = column.into();
        table_and_column_names::column(&column)?;
        Arc::make_mut(&mut self.settings).column = column;
        Ok(self)
    }

    /// Returns the plain pool. Its statements are not fenced.
    #[must_use]
    pub const fn inner(&self) -> &Pool<DB> {
        &self.pool
    }

    /// Begins a transaction that claims the resource with the name of the current lock's key, like
    /// [`Fence::begin`](crate::Fence::begin). `&mut *tx` fences the writes in it.
    ///
    /// The transaction protects reads, too: after it has begun, every `begin` of an older holder returns
    /// [`Error::Stale`]. Its writes also compare and set the tokens of their rows. So a late single statement cannot
    /// overwrite the rows of a transaction, and vice versa.
    ///
    /// The transaction keeps its lock, also in a spawned task. It uses this lock for tables that are not mapped, even if
    /// the task acquires further locks. After a loss of the lock its writes are refused, but `commit` is not: no newer
    /// holder has begun, and all writes have compared the tokens of their rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold_sqlx::{Error, FencedPool};
    /// use sqlx::Sqlite;
    ///
    /// /// Does not mention locks.
    /// async fn ship(pool: &FencedPool<Sqlite>, id: i64) -> Result<(), Error> {
    ///     let mut tx = pool.begin().await?;
    ///     let state: String = sqlx::query_scalar("SELECT state FROM orders WHERE id = ?")
    ///         .bind(id)
    ///         .fetch_one(&mut *tx)
    ///         .await?;
    ///     if state == "paid" {
    ///         sqlx::query("UPDATE orders SET state = 'shipped' WHERE id = ?")
    ///             .bind(id)
    ///             .execute(&mut *tx)
    ///             .await?;
    ///     }
    ///     tx.commit().await
    /// }
    /// ```
    pub const fn begin(&self) -> FencedBegin<'_, DB> {
        FencedBegin::new(&self.pool, &self.settings)
    }
}

impl<DB: FencedDatabase> Clone for FencedPool<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            settings: Arc::clone(&self.settings),
        }
    }
}
