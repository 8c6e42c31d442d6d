use std::borrow::Cow;

use leasehold_core::{FencingToken, InvalidToken};

use crate::{DEFAULT_COLUMN, Error, table_and_column_names};

/// Adds the fencing token of a holder to its writes. The database refuses a write to a row or resource with a newer
/// token.
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
    /// Creates a fence with the token of a guard, or with a token from another source.
    #[must_use]
    pub const fn new(token: FencingToken) -> Self {
        Self {
            token,
            column: Cow::Borrowed(DEFAULT_COLUMN),
        }
    }

    /// Sets the name of the token column. The default is [`DEFAULT_COLUMN`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::Name`] if the name contains other characters than lower-case letters, digits and `_`. Also
    /// returns it for `rowid`, `oid` and `_rowid_`, which are aliases of the primary key on `SQLite`.
    pub fn with_column(mut self, name: impl Into<Cow<'static, str>>) -> Result<Self, Error> {
        let column = name.into();
        table_and_column_names::column(&column)?;
        self.column = column;
        Ok(self)
    }

    /// Returns the token.
    #[must_use]
    pub const fn token(&self) -> FencingToken {
        self.token
    }

    /// Returns the name of the token column.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
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
