//! The errors of fenced writes.

use std::fmt;
use std::time::Duration;

use leasehold_core::{Lost, Stale};
use leasehold_sql::READ_ONLY;
use leasehold_sql::catalog::TableError;

/// The reason why a fenced write failed, or why its outcome is unknown.
///
/// # Examples
///
/// An [axum](https://docs.rs/axum) handler can respond to a stale write with 409. (`Problem` of `leasehold-tower` with
/// its feature `sqlx` responds with 412.)
///
/// ```
/// use axum::http::StatusCode;
/// use axum::response::{IntoResponse, Response};
///
/// struct ShopError(leasehold_sqlx::Error);
///
/// impl From<leasehold_sqlx::Error> for ShopError {
///     fn from(error: leasehold_sqlx::Error) -> Self {
///         Self(error)
///     }
/// }
///
/// impl IntoResponse for ShopError {
///     fn into_response(self) -> Response {
///         use leasehold_sqlx::Error;
///         let status = match &self.0 {
///             Error::Stale(_) | Error::PartiallyStale { .. } => StatusCode::CONFLICT,
///             Error::NotFound { .. } => StatusCode::NOT_FOUND,
///             Error::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
///             _ => StatusCode::INTERNAL_SERVER_ERROR,
///         };
///         (status, self.0.to_string()).into_response()
///     }
/// }
/// # use leasehold_sqlx::{Error, Stale};
/// # let token = |number: i64| leasehold_sqlx::FencingToken::try_from(number).unwrap();
/// # let stale = Stale { token: token(1), current: token(2) };
/// # assert_eq!(ShopError(stale.into()).into_response().status(), 409);
/// # let partly = Error::PartiallyStale { applied: 1, stale: 1 };
/// # assert_eq!(ShopError(partly).into_response().status(), 409);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A newer holder has written. This write had no effect.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// A newer holder has written some of the rows. The call rolled back the statement.
    #[error(
        "partly stale: {stale} rows have a newer token; the writes to {applied} other rows were rolled back"
    )]
    PartiallyStale {
        /// The number of rows that the statement wrote before the rollback.
        applied: u64,
        /// The number of rows with a newer token. If the statement joins tables, a row counts once for each row joined
        /// to it.
        stale: u64,
    },
    /// The statement matched fewer rows than expected, and no row has a newer token. The call rolled back the
    /// statement.
    #[error("not found: expected {expected} rows, found {applied}; nothing was written")]
    NotFound {
        /// The number of expected rows.
        expected: u64,
        /// The number of matched rows.
        applied: u64,
    },
    /// The statement matched more rows than expected. The call rolled back the statement.
    #[error("too many rows: expected {expected} rows, found {applied}; nothing was written")]
    TooMany {
        /// The number of expected rows.
        expected: u64,
        /// The number of matched rows.
        applied: u64,
    },
    /// The crate cannot add a fence to the statement. Nothing was sent.
    #[error("this statement cannot be fenced ({position}): {problem}; {remedy}")]
    Rewrite {
        /// The position of the problem in the statement.
        position: Position,
        /// The problem.
        problem: String,
        /// How to change the statement.
        remedy: String,
    },
    /// The caller bound too few or too many values. Nothing was sent.
    #[error("the statement takes {expected} values, but {given} were bound")]
    Binds {
        /// The number of values that the statement takes.
        expected: usize,
        /// The number of bound values.
        given: usize,
    },
    /// Another transaction held the fence of the resource until the time limit elapsed. Nothing was written.
    #[error(
        "the fence of `{resource}` is busy: another transaction held it for more than {limit:?}"
    )]
    Busy {
        /// The resource.
        resource: String,
        /// The time limit of the wait.
        limit: Duration,
    },
    /// A response is already recorded for the idempotency key. Roll back the transaction, because the work of the
    /// earlier request is committed.
    #[error(
        "a response is already recorded for `{key}`: roll back this transaction, and return the recorded response"
    )]
    AlreadyRecorded {
        /// The idempotency key.
        key: String,
    },
    /// A name is invalid.
    #[error("`{name}` is not a valid name for a {what}: {remedy}")]
    Name {
        /// The kind of the name: a column, a table, a resource or an idempotency key.
        what: &'static str,
        /// The name, shortened to 64 characters.
        name: String,
        /// How to change the name.
        remedy: &'static str,
    },
    /// A table of this crate cannot be used, or must not be created.
    #[error("the table `{table}` cannot be used: {problem}")]
    Table {
        /// The name of the table.
        table: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
    /// The token column exists but does not have an integer type. Tokens are compared as integers.
    #[error(
        "column `{column}` of table `{table}` has type `{found}`, but tokens need an integer type: change it to BIGINT, or \
         use another column (`Fence::with_column`, `ddl::add_column_named`)"
    )]
    ColumnType {
        /// The table, as passed to the function.
        table: String,
        /// The column.
        column: String,
        /// The type of the column.
        found: String,
    },
    /// The lock was lost. A [`FencedPool`](crate::FencedPool) did not send the write, or a `LockedTransaction` was rolled
    /// back instead of committed.
    #[error("{0}; this call wrote nothing: acquire the lock again, and read the current state")]
    Lost(#[source] Lost),
    /// A `LockedTransaction` needs an exclusive lock, and this lock is shared with other holders. Nothing was sent.
    #[error(
        "the lock on `{key}` is shared: begin the transaction with an exclusive lock, such as the write lock"
    )]
    NotExclusive {
        /// The key.
        key: String,
    },
    /// The database of a `LockedTransaction` does not store its lock. The transaction was rolled back.
    #[error(
        "the lock on `{key}` is not in the table `leasehold_locks` of this database; nothing was written: begin the \
         transaction with a pool of the database and the schema in which `SqlBackend` stores the lock"
    )]
    NotInDatabase {
        /// The key.
        key: String,
    },
    /// A [`FencedPool`](crate::FencedPool) needs a lock for this write, and the task does not hold one. Nothing was
    /// sent. `?` also converts the errors of `run` and `acquire` of a lock into this variant.
    #[error(transparent)]
    Lock(#[from] leasehold_core::Error),
    /// The task holds locks, but no lock for this table of a [`FencedPool`](crate::FencedPool). Nothing was sent.
    #[error(
        "writing `{table}` needs a lock on `{pattern}`, but this task holds `{}`: acquire the lock of the row, and write \
         inside of its `run`",
        held.join("`, `")
    )]
    WrongKey {
        /// The table, as in the statement.
        table: String,
        /// The key or the pattern of the table, as passed to [`map_table`](crate::FencedPool::map_table).
        pattern: String,
        /// The keys of the locks with a token that the task holds, the innermost first.
        held: Vec<String>,
    },
    /// The database takes no writes: it is a replica, was a primary before a switchover, or is read-only by a setting.
    /// Nothing was written. The pool may keep such connections: close them, or create the pool again.
    #[error("{}", READ_ONLY)]
    ReadOnly(#[source] sqlx::Error),
    /// The database or the driver failed. The source is the error of sqlx.
    #[error("database error")]
    Sqlx(#[source] sqlx::Error),
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Unusable { table, problem } => Self::Table { table, problem },
            TableError::Database(error) => error.into(),
        }
    }
}

impl Error {
    /// Returns an error if a lock has ended.
    pub(crate) fn if_lost(end: Option<Lost>) -> Result<(), Self> {
        end.map_or(Ok(()), |lost| Err(Self::Lost(lost)))
    }
}

/// A position in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The number of bytes before the position.
    pub offset: usize,
    /// The line, starting at 1.
    pub line: usize,
    /// The character in the line, starting at 1.
    pub column: usize,
}

impl Position {
    pub(crate) fn of(sql: &str, offset: usize) -> Self {
        let before = sql.get(..offset).unwrap_or(sql);
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            offset: before.len(),
            line: before.matches('\n').count() + 1,
            column: before[line..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
