use leasehold_core::FencingToken;
use sqlx::{Database, Either};

use crate::database::FencedDatabase;
use crate::error::Position;
use crate::{Error, events_and_metrics, resource_names};

/// The rows and results of a statement, in the order in which the database returns them.
pub(crate) type Answers<DB> = Vec<Either<<DB as Database>::QueryResult, <DB as Database>::Row>>;

/// Returns the number of written rows. On `MySQL` and `MariaDB` a result with rows has no count.
pub(super) fn written<DB: FencedDatabase>(answers: &Answers<DB>, returns_rows: bool) -> u64 {
    match returns_rows {
        true => answers.iter().filter(|it| it.is_right()).count() as u64,
        false => {
            let results = answers.iter().filter_map(|it| it.as_ref().left());
            results.map(DB::written).sum()
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

/// Returns an error if a row is stale, or if the statement wrote fewer or more rows than expected.
pub(super) fn explain(
    table: &str,
    token: FencingToken,
    applied: u64,
    expected: Option<u64>,
    found: &Found,
) -> Result<(), Error> {
    match (found.newest, expected) {
        (Some(current), _) if applied == 0 => {
            let stale = resource_names::stale(token, current)?;
            events_and_metrics::stale(table, &stale);
            Err(stale.into())
        }
        (Some(_), _) => {
            let stale = found.stale.unsigned_abs();
            events_and_metrics::partially_stale(table, token, applied, stale);
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
