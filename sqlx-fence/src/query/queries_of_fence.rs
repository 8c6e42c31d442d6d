use sqlx::{FromRow, SqlSafeStr};

use super::FencedQuery;
use crate::database::FencedDatabase;
use crate::fence::Fence;

impl Fence {
    /// Creates a fenced `UPDATE` or `DELETE`. The statement writes only rows that no newer holder has written.
    ///
    /// The fence adds an assignment and a condition, and does not change the rest of the text. For example, the call
    /// sends the first of these statements as the second:
    ///
    /// ```sql
    /// UPDATE orders SET state = $1 WHERE id = $2 OR parent = $2
    /// UPDATE orders SET state = $1, fencing_token = $3 WHERE (id = $2 OR parent = $2) AND (orders.fencing_token IS NULL OR orders.fencing_token <= $3)
    /// ```
    ///
    /// If the statement cannot be fenced, executing it returns an error and sends nothing.
    ///
    /// # Limits
    ///
    /// - **Reads**: a fenced statement refuses an older holder only after a newer one has *written the row*. If the
    ///   newer holder only reads first, a late write of the older holder still passes. The newer holder then overwrites
    ///   that write. Use [`begin`](Self::begin) to read and write.
    /// - **`LIMIT`** counts only rows that are not stale. The call refuses a `LIMIT` with `ORDER BY`, because the
    ///   statement would write the next rows in place of stale rows. Use a sub-query instead:
    ///   `WHERE id IN (SELECT id FROM (SELECT id FROM jobs ORDER BY id LIMIT 10) AS chosen)`.
    /// - **Triggers**: the statement writes the token even if it changes no other value. So triggers run, and on
    ///   `MySQL` and `MariaDB` columns with `ON UPDATE CURRENT_TIMESTAMP` are set.
    /// - **Upserts**: run a fenced `UPDATE` in a transaction of [`begin`](Self::begin). If it writes no row, run an
    ///   `INSERT` that sets the token column. `ON CONFLICT` and `ON DUPLICATE KEY` would write a row without comparing
    ///   its token.
    /// - **Policies** on Postgres: an `UPDATE` ignores a row that a policy hides from it, and never reports the row as
    ///   stale. A `DELETE` reports a row as stale if the role may read but not delete it.
    /// - **Deleted rows**: the database deletes the token with its row. It then accepts a late write that inserts the
    ///   row again.
    /// - **`SELECT … FOR UPDATE`**: the call refuses this statement, because it does not write the token. Older holders
    ///   could write as soon as the database releases the locks of the rows. To read and lock rows with the fence,
    ///   write `UPDATE orders SET id = id WHERE … RETURNING …`.
    pub fn query<DB: FencedDatabase>(&self, sql: impl SqlSafeStr) -> FencedQuery<DB> {
        FencedQuery::new(self.clone(), sql.into_sql_str(), Ok)
    }

    /// Creates a fenced statement with `RETURNING`, as [`query`](Self::query) does. The call decodes the rows as sqlx's
    /// `query_as` does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold_sqlx::{Error, Fence};
    ///
    /// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
    /// # let pool = options.connect("sqlite::memory:").await?;
    /// # sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, fencing_token BIGINT NOT NULL DEFAULT 0)").execute(&pool).await?;
    /// # sqlx::query("INSERT INTO orders (id, state) VALUES (42, 'new')").execute(&pool).await?;
    /// let (older, newer) = (Fence::try_from(7)?, Fence::try_from(9)?);
    ///
    /// let pay = "UPDATE orders SET state = 'paid' WHERE id = ? RETURNING id, state";
    /// let paid: (i64, String) = newer.query_as(pay).bind(42).fetch_one(&pool).await?;
    /// assert_eq!(paid, (42, "paid".to_owned()));
    ///
    /// let late = older.query_as::<_, (i64, String)>(pay).bind(42).fetch_optional(&pool).await;
    /// assert!(matches!(late, Err(Error::Stale(_))), "not `Ok(None)`");
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_as<DB, O>(&self, sql: impl SqlSafeStr) -> FencedQuery<DB, O>
    where
        DB: FencedDatabase,
        O: for<'r> FromRow<'r, DB::Row>,
    {
        FencedQuery::new(self.clone(), sql.into_sql_str(), |row| O::from_row(&row))
    }

    /// Creates a fenced statement with `RETURNING`, as [`query_as`](Self::query_as) does, but returns only the first
    /// column.
    pub fn query_scalar<DB, O>(&self, sql: impl SqlSafeStr) -> FencedQuery<DB, O>
    where
        DB: FencedDatabase,
        (O,): for<'r> FromRow<'r, DB::Row>,
    {
        FencedQuery::new(self.clone(), sql.into_sql_str(), |row| first::<DB, O>(&row))
    }
}

/// Returns the first column of a row.
pub(super) fn first<DB, O>(row: &DB::Row) -> Result<O, sqlx::Error>
where
    DB: FencedDatabase,
    (O,): for<'r> FromRow<'r, DB::Row>,
{
    <(O,)>::from_row(row).map(|(first,)| first)
}
