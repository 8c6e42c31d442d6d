use futures_core::future::BoxFuture;
use futures_util::{FutureExt, TryStreamExt};
use leasehold::FencingToken;
use sqlx::{Database, Either};

use crate::database::{Call, FencedDatabase};
use crate::error::Position;
use crate::{Error, observe, resource};

type Send<DB, T> =
    fn(&mut <DB as Database>::Connection, Call<DB>) -> BoxFuture<'_, Result<T, sqlx::Error>>;

/// The rows and results of a statement, in the order in which the database returns them.
pub(crate) type Answers<DB> = Vec<Either<<DB as Database>::QueryResult, <DB as Database>::Row>>;

/// How a statement is sent, and how its result is counted.
pub(super) struct Ask<DB: Database, T> {
    pub(super) send: Send<DB, T>,
    pub(super) rows: fn(&T) -> u64,
}

impl<DB: FencedDatabase> Ask<DB, DB::QueryResult> {
    pub(super) fn execute() -> Self {
        Self {
            send: DB::execute,
            rows: DB::written,
        }
    }
}

impl<DB: FencedDatabase> Ask<DB, Answers<DB>> {
    pub(super) fn answers(returns_rows: bool) -> Self {
        Self {
            send: |connection, call| DB::many(connection, call).try_collect().boxed(),
            rows: match returns_rows {
                // On MySQL and MariaDB a result with rows has no count.
                true => |answers| answers.iter().filter(|it| it.is_right()).count() as u64,
                false => |answers| {
                    answers
                        .iter()
                        .filter_map(|it| it.as_ref().left())
                        .map(DB::written)
                        .sum()
                },
            },
        }
    }
}

impl<DB: FencedDatabase> Ask<DB, Vec<DB::Row>> {
    pub(super) fn fetch() -> Self {
        Self {
            send: DB::fetch,
            rows: |rows| rows.len() as u64,
        }
    }
}

/// The rows that have newer tokens.
pub(super) struct Found {
    /// The number of these rows.
    pub(super) stale: i64,
    /// The largest token of these rows.
    pub(super) newest: Option<i64>,
}

/// Returns the error if fewer or more rows were written than expected. Returns no error if no number is expected and no
/// row is stale.
pub(super) fn explain(
    table: &str,
    token: FencingToken,
    applied: u64,
    expected: Option<u64>,
    found: &Found,
) -> Result<(), Error> {
    match (found.newest, expected) {
        (Some(current), _) if applied == 0 => {
            let stale = resource::stale(token, current)?;
            observe::stale(table, &stale);
            Err(stale.into())
        }
        (Some(_), _) => {
            let stale = found.stale.unsigned_abs();
            observe::partially_stale(table, token, applied, stale);
            Err(Error::PartiallyStale { applied, stale })
        }
        (None, Some(expected)) if applied < expected => Err(Error::NotFound { expected, applied }),
        (None, Some(expected)) if applied > expected => Err(Error::TooMany { expected, applied }),
        (None, _) => Ok(()),
    }
}

pub(super) fn uncounted(sql: &str) -> Error {
    Error::Rewrite {
        position: Position::of(sql, sql.len()),
        problem: "with RETURNING, `execute` cannot get the number of written rows".to_owned(),
        remedy: "call `fetch_all`, or remove RETURNING".to_owned(),
    }
}

pub(super) fn no_rows(sql: &str) -> Error {
    Error::Rewrite {
        position: Position::of(sql, sql.len()),
        problem: "rows cannot be fetched, because the statement has no RETURNING".to_owned(),
        remedy: "add RETURNING, or call `execute`".to_owned(),
    }
}
