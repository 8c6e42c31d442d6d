use std::borrow::Cow;

use leasehold::{FencingToken, InvalidToken};
use sqlx::{Pool, SqlSafeStr};

use crate::begin::Begin;
use crate::database::FencedDatabase;
use crate::query::FencedQuery;
use crate::{DEFAULT_COLUMN, Error, name};

/// A holder's fencing token, as a condition of its writes.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold_sqlx::{Error, Fence};
///
/// # let pool = sqlx::SqlitePool::connect("sqlite::memory:").await?;
/// # let mut schema = pool.acquire().await?;
/// # sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, fencing_token BIGINT NOT NULL DEFAULT 0)").execute(&mut *schema).await?;
/// # sqlx::query("INSERT INTO orders (id, state) VALUES (42, 'new')").execute(&mut *schema).await?;
/// # drop(schema);
/// let (older, newer) = (Fence::try_from(7)?, Fence::try_from(9)?); // or Fence::new(guard.token())
///
/// let paid = "UPDATE orders SET state = ? WHERE id = ?";
/// newer.query(paid).bind("paid").bind(42).execute(&pool).await?;
///
/// let late = older.query(paid).bind("open").bind(42).execute(&pool).await;
/// assert!(matches!(late, Err(Error::Stale(stale)) if stale.current.get() == 9));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    token: FencingToken,
    column: Cow<'static, str>,
}

impl Fence {
    /// A fence with the token of a guard, or of whoever else counts.
    #[must_use]
    pub const fn new(token: FencingToken) -> Self {
        Self {
            token,
            column: Cow::Borrowed(DEFAULT_COLUMN),
        }
    }

    /// Another name for the column with the token. The default is [`DEFAULT_COLUMN`].
    ///
    /// # Errors
    ///
    /// [`Error::Name`] if it is not made of lower-case letters, digits and `_` alone.
    pub fn with_column(mut self, name: impl Into<Cow<'static, str>>) -> Result<Self, Error> {
        let column = name.into();
        name::column(&column)?;
        self.column = column;
        Ok(self)
    }

    /// The token.
    #[must_use]
    pub const fn token(&self) -> FencingToken {
        self.token
    }

    /// The name of the column with the token.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

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
    /// A deleted row takes its token along: a late write that inserts it anew is not refused.
    pub fn query<DB: FencedDatabase>(&self, sql: impl SqlSafeStr) -> FencedQuery<DB> {
        FencedQuery::new(self.clone(), sql.into_sql_str())
    }

    /// A transaction that no newer holder can overtake, and no older one can follow: reads in it are as safe as
    /// writes, and so is any kind of statement.
    ///
    /// Its first statement locks the resource's row in the table `fences` (see [`ddl`](crate::ddl)), notes the token
    /// there, and refuses if a newer one was. The row stays locked until the transaction ends.
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
        Begin::new(self.token, pool, resource.into())
    }
}

impl From<FencingToken> for Fence {
    fn from(token: FencingToken) -> Self {
        Self::new(token)
    }
}

impl TryFrom<i64> for Fence {
    type Error = InvalidToken;

    fn try_from(token: i64) -> Result<Self, InvalidToken> {
        Ok(Self::new(FencingToken::try_from(token)?))
    }
}
