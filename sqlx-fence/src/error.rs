//! Everything that a fenced write can answer in place of what was asked.

use std::fmt;
use std::time::Duration;

use leasehold::Stale;

/// Why a fenced write was not done, or not known to be.
///
/// # Examples
///
/// As an answer of an [axum](https://docs.rs/axum) handler, a stale write is a conflict. (`Problem` of `leasehold-tower` with
/// its feature `sqlx` answers 412.)
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
    /// A newer holder has written. Nothing was.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// Some of the rows had been written by a newer holder. Everything was rolled back.
    #[error(
        "partly stale: {stale} rows have newer tokens; the writes to {applied} others were rolled back"
    )]
    PartiallyStale {
        /// How many rows would have been written.
        applied: u64,
        /// How many rows have a newer token. Where the statement joins tables a row counts once for each row joined to it.
        stale: u64,
    },
    /// Fewer rows were there than expected, and none of them has a newer token. Everything was rolled back.
    #[error("not found: {expected} rows were expected, {applied} are there; nothing was written")]
    NotFound {
        /// How many were expected.
        expected: u64,
        /// How many there are.
        applied: u64,
    },
    /// More rows were there than expected. Everything was rolled back.
    #[error("{expected} rows were expected, {applied} are there; nothing was written")]
    TooMany {
        /// How many were expected.
        expected: u64,
        /// How many there are.
        applied: u64,
    },
    /// No fence can be added to the statement. Nothing was sent.
    #[error("this statement cannot be fenced ({position}): {problem}; {remedy}")]
    Rewrite {
        /// Where in the statement.
        position: Position,
        /// What is there.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// Too few or too many values were bound. Nothing was sent.
    #[error("the statement takes {expected} values, {given} were bound")]
    Binds {
        /// How many the statement takes.
        expected: usize,
        /// How many were bound.
        given: usize,
    },
    /// Another transaction holds the fence of the resource, and the time limit is over. Nothing was written.
    #[error("the fence of `{resource}` is held by another transaction, for more than {limit:?}")]
    Busy {
        /// What was to be locked.
        resource: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// A name that cannot be used.
    #[error("`{name}` cannot be the name of a {what}: {remedy}")]
    Name {
        /// What it was to be: a column, a table, a resource.
        what: &'static str,
        /// The name, cut after 64 characters.
        name: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The table has the column, and it is not of an integer type, by which tokens are compared.
    #[error(
        "column `{column}` of table `{table}` is of type `{found}`, and tokens need an integer: change it to BIGINT, or \
         use a column of another name (`Fence::with_column`, `ddl::add_column_named`)"
    )]
    ColumnType {
        /// The table, as it was given.
        table: String,
        /// The column.
        column: String,
        /// The type that it has.
        found: String,
    },
    /// The database or the driver failed.
    #[error("the database did not do it")]
    Sqlx(#[from] sqlx::Error),
}

/// A place in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// How many bytes are before it.
    pub offset: usize,
    /// The line, from 1 on.
    pub line: usize,
    /// The character in the line, from 1 on.
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
