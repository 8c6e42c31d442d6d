//! Converts database errors into problems. A problem does not contain the tables, statements and values of an error.

use leasehold_sqlx::Error;

use super::problem_from_error::{misconfigured, outcome_unknown};
use super::{Problem, ProblemKind};

/// Converts a stale write into a 412, as in [`FenceLayer`](crate::FenceLayer), and a database error into a 500 without
/// the text of the error.
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
            Error::AlreadyRecorded { .. } => Self::new(ProblemKind::Contended)
                .with_detail("another request with the same key has completed"),
            Error::NotFound { .. } | Error::Sqlx(sqlx::Error::RowNotFound) => {
                Self::new(ProblemKind::NotFound)
            }
            Error::TooMany { .. } => {
                misconfigured("a statement found more rows than expected; nothing was written")
            }
            Error::Rewrite { .. } | Error::Binds { .. } => {
                misconfigured("a statement of this route cannot be fenced")
            }
            // The client may have sent a part of the name.
            Error::Name {
                what: "resource" | "idempotency key",
                ..
            } => Self::new(ProblemKind::InvalidKey),
            Error::Name { what, .. } => misconfigured(format!("a name is not valid for a {what}")),
            Error::ColumnType { .. } => {
                misconfigured("the token column does not have an integer type")
            }
            Error::Table { .. } => misconfigured("a table of Leasehold cannot be used"),
            Error::Lock(error) => error.into(),
            Error::Lost(lost) => lost.into(),
            Error::WrongKey { .. } => {
                misconfigured("a write of this route needs a lock that the request does not hold")
            }
            Error::NotExclusive { .. } | Error::NotInDatabase { .. } => misconfigured(
                "the lock of this route cannot protect its transaction; nothing was written",
            ),
            Error::ReadOnly(_) => Self::new(ProblemKind::Unavailable),
            _ => failed(),
        }
    }
}

/// Converts [`sqlx::Error::RowNotFound`] into a 404, the errors of a `FencedPool` like [`Error`], and every other error
/// into a 500 without the text of the error.
#[cfg_attr(docsrs, doc(cfg(feature = "sqlx")))]
impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        Error::from(error).into()
    }
}

/// Returns the problem for a database error. The database may have committed even if the response to the commit was
/// lost.
fn failed() -> Problem {
    outcome_unknown("the database failed")
}
