use sqlx::{FromRow, SqlSafeStr};

use super::FencedQuery;
use crate::database::FencedDatabase;
use crate::fence::Fence;

impl Fence {
    /// A single `UPDATE` or `DELETE` that writes only rows which no newer holder has written.
    ///
    /// The text stays as it is, but for an assignment and a condition that are added. Of these two,
    ///
    /// ```sql
    /// UPDATE orders SET state = $1 WHERE id = $2 OR parent = $2
    /// UPDATE orders SET state = $1, fencing_token = $3 WHERE (id = $2 OR parent = $2) AND (orders.fencing_token IS NULL OR orders.fencing_token <= $3)
    /// ```
    ///
    /// the first is what is given, and the second what is sent. Whatever is wrong with it is told when it is
    /// executed, before anything is sent.
    ///
    /// A fenced statement refuses an older holder once a newer one has *written the row*. If the newer one reads
    /// first, the older one's late write still passes, and is lost under what follows: use
    /// [`begin`](Self::begin) for reading and writing.
    ///
    /// `LIMIT` counts the rows that are not stale. So it is refused with `ORDER BY`, where the next rows would be written
    /// in place of stale ones; without, it is open anyway which rows it takes. To write the first rows of an order,
    /// choose them in a sub-query:
    /// `WHERE id IN (SELECT id FROM (SELECT id FROM jobs ORDER BY id LIMIT 10) AS chosen)`.
    ///
    /// The token is written even where the statement changes no value otherwise: triggers run, and on `MySQL` and
    /// `MariaDB` a column that is declared with `ON UPDATE CURRENT_TIMESTAMP` gets the time.
    ///
    /// For an upsert run a fenced `UPDATE` in a transaction of [`begin`](Self::begin), and where it writes no row an
    /// `INSERT` that sets the column with the token. `ON CONFLICT` and `ON DUPLICATE KEY` would write a row of which
    /// nobody has asked whether its token is newer.
    ///
    /// On Postgres a row that a policy hides from the `UPDATE` counts as none, and so it is not told as stale. Of a
    /// `DELETE`, whose policies a question cannot have, a row that it may read and not delete is.
    ///
    /// A deleted row takes its token along: a late write that inserts it anew is not refused.
    ///
    /// A `SELECT … FOR UPDATE` is refused, because it does not write the token: older holders could write as soon as its
    /// locks are released. To read and lock rows under the fence, write
    /// `UPDATE orders SET id = id WHERE … RETURNING …`.
    pub fn query<DB: FencedDatabase>(&self, sql: impl SqlSafeStr) -> FencedQuery<DB> {
        FencedQuery::new(self.clone(), sql.into_sql_str(), Ok)
    }

    /// As [`query`](Self::query), for a statement with `RETURNING` whose rows are read as sqlx's `query_as` reads them.
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

    /// As [`query_as`](Self::query_as), for the first column alone.
    pub fn query_scalar<DB, O>(&self, sql: impl SqlSafeStr) -> FencedQuery<DB, O>
    where
        DB: FencedDatabase,
        (O,): for<'r> FromRow<'r, DB::Row>,
    {
        FencedQuery::new(self.clone(), sql.into_sql_str(), |row| first::<DB, O>(&row))
    }
}

/// The first column of a row.
pub(super) fn first<DB, O>(row: &DB::Row) -> Result<O, sqlx::Error>
where
    DB: FencedDatabase,
    (O,): for<'r> FromRow<'r, DB::Row>,
{
    <(O,)>::from_row(row).map(|(first,)| first)
}
