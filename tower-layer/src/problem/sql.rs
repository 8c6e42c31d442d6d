//! Which problem an error of a database is. What it says of tables, statements and values stays out of it.

use leasehold_sqlx::Error;

use super::from::{misconfigured, outcome_unknown};
use super::{Problem, ProblemKind};

/// A stale write is the 412 of [`FenceLayer`](crate::FenceLayer), and a failing database a 500 that does not repeat its
/// text.
///
/// ```
/// use leasehold_sqlx::Fence;
/// use leasehold_tower::Problem;
/// use sqlx::SqlitePool;
///
/// async fn ship(db: &SqlitePool, fence: &Fence, id: i64) -> Result<String, Problem> {
///     let mut tx = fence.begin(db, format!("order:{id}")).await?;
///     let state: String = sqlx::query_scalar("SELECT state FROM orders WHERE id = ?")
///         .bind(id)
///         .fetch_one(&mut *tx)
///         .await?;
///     let ship = fence.query("UPDATE orders SET state = 'shipped' WHERE id = ?");
///     ship.bind(id).expect_rows(1).execute(&mut *tx).await?;
///     tx.commit().await?;
///     Ok(state)
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
/// # let pool = options.connect("sqlite::memory:").await?;
/// # sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)").execute(&pool).await?;
/// # sqlx::query("INSERT INTO orders VALUES (42, 'new')").execute(&pool).await?;
/// # leasehold_sqlx::ddl::create_fences(&pool).await?;
/// # leasehold_sqlx::ddl::add_column(&pool, "orders").await?;
/// # assert_eq!(ship(&pool, &Fence::try_from(2)?, 42).await?, "new");
/// # let stale = ship(&pool, &Fence::try_from(1)?, 42).await.unwrap_err();
/// # assert_eq!(stale.status(), 412);
/// # Ok(())
/// # }
/// ```
#[cfg_attr(docsrs, doc(cfg(feature = "sqlx")))]
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Stale(stale) => stale.into(),
            Error::PartiallyStale { .. } => Self::new(ProblemKind::Stale),
            Error::Busy { .. } => Self::new(ProblemKind::Contended),
            Error::NotFound { .. } => Self::new(ProblemKind::NotFound),
            Error::TooMany { .. } => {
                misconfigured("a statement found more rows than it expects; nothing was written")
            }
            Error::Rewrite { .. } | Error::Binds { .. } => {
                misconfigured("a statement of this route cannot be fenced")
            }
            // It may be made of what the client has sent.
            Error::Name {
                what: "resource", ..
            } => Self::new(ProblemKind::InvalidKey),
            Error::Name { what, .. } => misconfigured(format!("a name cannot be that of a {what}")),
            Error::ColumnType { .. } => {
                misconfigured("the column of the tokens is not of an integer type")
            }
            Error::Sqlx(error) => error.into(),
            _ => failed(),
        }
    }
}

/// 404 where a row was to be fetched and there is none; else a 500 that does not repeat the database's text.
#[cfg_attr(docsrs, doc(cfg(feature = "sqlx")))]
impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::RowNotFound => Self::new(ProblemKind::NotFound),
            _ => failed(),
        }
    }
}

/// A lost answer to a commit looks like any other error.
fn failed() -> Problem {
    outcome_unknown("the database failed")
}
