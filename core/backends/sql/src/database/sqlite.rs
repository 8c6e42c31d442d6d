//! The statements on `SQLite`.
//!
//! The clock is the clock of the machine, in whole milliseconds. A statement reads the clock once, after it has acquired
//! the write lock of the database.

use std::time::Duration;

use leasehold_core::AttemptId;
use leasehold_core::backend::{Attempt, Claim};
use leasehold_core::check::Finding;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Row, Sqlite, SqliteConnection, Transaction};

use super::{Answer, LockDatabase, NO_AUTOCOMMIT, is_old, owner, rows, shared_statements};
use crate::catalog::Table;
use crate::clock_micros::micros;
use crate::examine_settings;
use crate::lock_row::{Reading, Record, Swept};
use crate::table_definitions;

/// The number of claims in one statement, which is far below the number of values that `SQLite` accepts.
const CLAIMS: usize = 1000;

/// The database's clock in microseconds since 1970.
macro_rules! now {
    () => {
        "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000"
    };
}

const TAKE: &str = concat!(
    "INSERT INTO leasehold_locks (lock_key, version, owner, token, expires_at, kept_until, closed_until, label) \
     SELECT $1, ",
    now!(),
    ", $2, ",
    now!(),
    ", ",
    now!(),
    " + $3, 0, 0, $5 WHERE ",
    now!(),
    " < $4 \
     ON CONFLICT (lock_key) DO UPDATE SET version = version + 1, owner = $2, \
         token = MAX(",
    now!(),
    ", token + 1), expires_at = ",
    now!(),
    " + $3, state = NULL, label = $5 \
     WHERE expires_at <= ",
    now!(),
    " AND kept_until <= ",
    now!(),
    " AND closed_until <= ",
    now!(),
    " \
         AND ",
    now!(),
    " < $4 \
     RETURNING token"
);

/// Returns a row even if the key does not have one, because the caller needs the time.
const READ: &str = concat!(
    "SELECT ",
    now!(),
    ", version, owner, token, expires_at, kept_until, closed_until, state, label \
     FROM (SELECT 1) LEFT JOIN leasehold_locks ON lock_key = $1"
);

const UPDATE: &str = "UPDATE leasehold_locks SET version = version + 1, owner = $1, token = $2, expires_at = $3, \
     kept_until = $4, closed_until = $5, state = $6, label = $7 WHERE lock_key = $8 AND version = $9";

const INSERT: &str = concat!(
    "INSERT INTO leasehold_locks \
         (lock_key, version, owner, token, expires_at, kept_until, closed_until, state, label) \
     SELECT $1, ",
    now!(),
    ", $2, $3, $4, $5, $6, $7, $8 WHERE ",
    now!(),
    " < $9 \
     ON CONFLICT (lock_key) DO NOTHING"
);

const RENEW: &str = concat!(
    ") UPDATE leasehold_locks SET version = version + 1, expires_at = ",
    now!(),
    " + c.ttl FROM c \
     WHERE leasehold_locks.lock_key = c.lock_key AND leasehold_locks.owner = c.owner \
         AND leasehold_locks.token = c.token AND expires_at > ",
    now!(),
    " \
     RETURNING owner"
);

const PAGE: &str = "SELECT MAX(lock_key) FROM \
     (SELECT lock_key FROM leasehold_locks WHERE lock_key > $1 ORDER BY lock_key LIMIT 1000) AS page";

/// Returns the rows with leases of 100 keys, from this key on.
const LIST: &str = concat!(
    "SELECT ",
    now!(),
    ", version, owner, token, expires_at, kept_until, closed_until, state, label, lock_key \
     FROM leasehold_locks WHERE lock_key >= $1 AND (expires_at > ",
    now!(),
    " OR kept_until > ",
    now!(),
    ") ORDER BY lock_key LIMIT 100"
);

const SWEEP: &str = concat!(
    "DELETE FROM leasehold_locks WHERE lock_key > $1 AND lock_key <= $2 AND ",
    is_old!()
);

const RELEASE: &str = concat!(
    "UPDATE leasehold_locks SET version = version + 1, owner = NULL, expires_at = 0 \
     WHERE lock_key = $1 AND owner = $2 AND token = $3 AND expires_at > ",
    now!(),
    " AND state IS NULL"
);

impl LockDatabase for Sqlite {
    const LOCKS: Table = table_definitions::locks(table_definitions::SQLITE_LOCKS);

    const CLOCK_STEP: Duration = Duration::from_millis(1);

    fn take<'c>(
        connection: &'c mut SqliteConnection,
        prepare: bool,
        attempt: &'c Attempt,
        expiry: i64,
    ) -> Answer<'c, Option<i64>> {
        Box::pin(async move {
            let owner = attempt.owner.to_bytes();
            let take = query(TAKE, prepare)
                .bind(attempt.key.full())
                .bind(owner.as_slice())
                .bind(micros(attempt.ttl + Self::CLOCK_STEP))
                .bind(expiry)
                .bind(attempt.owner.label());
            // The driver ignores an error of the commit if it does not fetch all rows.
            let rows = take.fetch_all(connection).await?;
            rows.first().map(|row| row.try_get(0)).transpose()
        })
    }

    fn renew<'c>(
        connection: &'c mut SqliteConnection,
        _prepare: bool,
        claims: &'c [&'c Claim],
    ) -> Answer<'c, Vec<AttemptId>> {
        Box::pin(async move {
            let mut renewed = Vec::new();
            for claims in claims.chunks(CLAIMS) {
                let values = vec!["(?, ?, ?, ?)"; claims.len()].join(", ");
                let sql =
                    format!("WITH c (lock_key, owner, token, ttl) AS (VALUES {values}{RENEW}");
                let mut renew =
                    sqlx::query_scalar(AssertSqlSafe(sql)).persistent(claims.len() == 1);
                for claim in claims {
                    renew = renew
                        .bind(claim.key.full())
                        .bind(claim.owner.to_bytes().to_vec());
                    renew = renew
                        .bind(claim.token.get())
                        .bind(micros(claim.ttl + Self::CLOCK_STEP));
                }
                let owners: Vec<Vec<u8>> = renew.fetch_all(&mut *connection).await?;
                renewed.extend(owners.into_iter().filter_map(owner));
            }
            Ok(renewed)
        })
    }

    fn update<'c>(
        connection: &'c mut SqliteConnection,
        prepare: bool,
        key: &'c str,
        after: &'c Record,
        _waiters: &'c [String],
    ) -> Answer<'c, bool> {
        Box::pin(async move {
            let update = update(UPDATE, prepare, key, after)
                .execute(connection)
                .await?;
            Ok(update.rows_affected() > 0)
        })
    }

    fn commit<'c>(mut tx: Transaction<'static, Self>, claim: &'c Claim) -> Answer<'c, bool> {
        Box::pin(async move {
            // The transaction has the only write lock, so the row does not change after this check.
            let reading = Self::read(&mut tx, true, claim.key.full()).await?;
            let is_held = reading.end_of(claim).is_none();
            if is_held {
                tx.commit().await?;
            } else {
                tx.rollback().await?;
            }
            Ok(is_held)
        })
    }

    fn examine(connection: &mut SqliteConnection) -> Answer<'_, Vec<Finding>> {
        Box::pin(examine_settings::sqlite::examine(connection))
    }

    shared_statements!(SqliteConnection);
}

/// Returns a statement, which is always prepared.
fn query(sql: &'static str, _prepare: bool) -> Query<'static, Sqlite, SqliteArguments> {
    sqlx::query(sql)
}

fn bytes(row: &SqliteRow, column: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
    row.try_get(column)
}

rows!(Query<'static, Sqlite, SqliteArguments>, SqliteRow);
