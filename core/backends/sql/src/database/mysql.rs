//! The statements on `MySQL` and `MariaDB`.
//!
//! A statement reads the clock once, at its beginning. If the statement then waits for a concurrent change of its row,
//! its time is in the past, so it can find a lock busy that is free. It never finds a lock free that is busy.

use leasehold_core::AttemptId;
use leasehold_core::backend::{Attempt, Claim};
use leasehold_core::check::Finding;
use sqlx::error::ErrorKind;
use sqlx::mysql::{MySqlArguments, MySqlRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, MySql, MySqlConnection, Row, Transaction};

use super::{Answer, LockDatabase, NO_AUTOCOMMIT, hex, is_old, owner, rows, shared_statements};
use crate::catalog::Table;
use crate::clock_micros::micros;
use crate::examine_settings;
use crate::lock_row::{Reading, Record, Swept};
use crate::table_definitions;

/// The number of claims in one statement, which is far below the number of values that the server accepts.
const CLAIMS: usize = 1000;

/// The database's clock in microseconds since 1970.
macro_rules! now {
    () => {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
    };
}

/// The value of a column of an existing row: the new value, if the statement has acquired the lock.
macro_rules! if_acquired {
    ($column:literal, $new:expr) => {
        concat!(
            $column,
            " = IF(LAST_INSERT_ID(), ",
            $new,
            ", ",
            $column,
            ")"
        )
    };
}

/// Returns the token as the id of the last inserted row, or 0 if the lock is not free. The server assigns the columns
/// from left to right. The first assignment of an existing row decides whether the lock is free, and sets this id.
///
/// The new row contains the time as its version, and the other expressions read the time there, because the server
/// evaluates an expression for each of its uses. A late statement fails, in all SQL modes, because it inserts `NULL` into
/// `kept_until`. The server would need more time for an `INSERT … SELECT … WHERE`.
const TAKE: &str = concat!(
    "INSERT INTO leasehold_locks (version, lock_key, owner, token, expires_at, kept_until, closed_until, label) \
     VALUES (",
    now!(),
    ", ?, ?, LAST_INSERT_ID(version), version + ?, IF(version < ?, 0, NULL), 0, ?) \
     ON DUPLICATE KEY UPDATE \
         token = IF(GREATEST(expires_at, kept_until, closed_until) <= VALUES(version), \
             LAST_INSERT_ID(GREATEST(VALUES(version), token + 1)), token + LAST_INSERT_ID(0)), ",
    if_acquired!("version", "version + 1"),
    ", ",
    if_acquired!("owner", "VALUES(owner)"),
    ", ",
    if_acquired!("state", "NULL"),
    ", ",
    if_acquired!("label", "VALUES(label)"),
    ", ",
    if_acquired!("expires_at", "VALUES(expires_at)")
);

/// Returns a row even if the key does not have one, because the caller needs the time. Returns no time if the server does
/// not commit the statements of this connection.
const READ: &str = concat!(
    "SELECT IF(@@autocommit, ",
    now!(),
    ", NULL), version, owner, token, expires_at, kept_until, closed_until, state, label \
     FROM (SELECT 1) AS always LEFT JOIN leasehold_locks ON lock_key = ?"
);

const UPDATE: &str = "UPDATE leasehold_locks SET version = version + 1, owner = ?, token = ?, expires_at = ?, \
     kept_until = ?, closed_until = ?, state = ?, label = ? WHERE lock_key = ? AND version = ?";

const INSERT: &str = concat!(
    "INSERT IGNORE INTO leasehold_locks \
         (lock_key, version, owner, token, expires_at, kept_until, closed_until, state, label) \
     SELECT ?, ",
    now!(),
    ", ?, ?, ?, ?, ?, ?, ? FROM DUAL WHERE ",
    now!(),
    " < ?"
);

/// A claim in the statements that follow.
const CLAIM: &str = "SELECT ? AS lock_key, ? AS owner, ? AS token, ? AS ttl";

const RENEW: &str = concat!(
    ") AS c ON l.lock_key = c.lock_key AND l.owner = c.owner AND l.token = c.token \
     SET l.version = l.version + 1, l.expires_at = ",
    now!(),
    " + c.ttl WHERE l.expires_at > ",
    now!()
);

/// Returns the owners whose leases have not ended, because the server does not return the rows of an update.
const RENEWED: &str = concat!(
    ") AS c ON l.lock_key = c.lock_key AND l.owner = c.owner AND l.token = c.token \
     WHERE l.expires_at > ",
    now!()
);

const PAGE: &str = "SELECT MAX(lock_key) FROM \
     (SELECT lock_key FROM leasehold_locks WHERE lock_key > ? ORDER BY lock_key LIMIT 1000) AS page";

/// Returns the rows with leases of 100 keys, from this key on.
const LIST: &str = concat!(
    "SELECT ",
    now!(),
    ", version, owner, token, expires_at, kept_until, closed_until, state, label, lock_key \
     FROM leasehold_locks WHERE lock_key >= ? AND (expires_at > ",
    now!(),
    " OR kept_until > ",
    now!(),
    ") ORDER BY lock_key LIMIT 100"
);

const SWEEP: &str = concat!(
    "DELETE FROM leasehold_locks WHERE lock_key > ? AND lock_key <= ? AND ",
    is_old!()
);

const RELEASE: &str = concat!(
    "UPDATE leasehold_locks SET version = version + 1, owner = NULL, expires_at = 0 \
     WHERE lock_key = ? AND owner = ? AND token = ? AND expires_at > ",
    now!(),
    " AND state IS NULL"
);

impl LockDatabase for MySql {
    const LOCKS: Table = table_definitions::locks(table_definitions::MYSQL_LOCKS);

    fn take<'c>(
        connection: &'c mut MySqlConnection,
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
            let taken = take.execute(connection).await;
            if let Err(sqlx::Error::Database(refused)) = &taken
                && refused.kind() == ErrorKind::NotNullViolation
            {
                return Ok(None);
            }
            let token = taken?.last_insert_id().cast_signed();
            Ok(Some(token).filter(|token| *token > 0))
        })
    }

    fn renew<'c>(
        connection: &'c mut MySqlConnection,
        _prepare: bool,
        claims: &'c [&'c Claim],
    ) -> Answer<'c, Vec<AttemptId>> {
        Box::pin(async move {
            let mut renewed = Vec::new();
            for claims in claims.chunks(CLAIMS) {
                let values = vec![CLAIM; claims.len()].join(" UNION ALL ");
                let renew = format!("UPDATE leasehold_locks AS l JOIN ({values}{RENEW}");
                let read =
                    format!("SELECT l.owner FROM leasehold_locks AS l JOIN ({values}{RENEWED}");
                bound(renew, claims).execute(&mut *connection).await?;
                for row in bound(read, claims).fetch_all(&mut *connection).await? {
                    renewed.extend(owner(row.try_get(0)?));
                }
            }
            Ok(renewed)
        })
    }

    fn update<'c>(
        connection: &'c mut MySqlConnection,
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
            let sql = format!(
                "SELECT COUNT(*) INTO @leasehold_held FROM leasehold_locks \
                     WHERE lock_key = x'{}' AND owner IS NOT NULL AND token = {} AND expires_at > {} FOR UPDATE; \
                 SET @leasehold_end = IF(@leasehold_held = 1, 'COMMIT', 'DO 0'); \
                 PREPARE leasehold_end FROM @leasehold_end; \
                 EXECUTE leasehold_end; \
                 DEALLOCATE PREPARE leasehold_end; \
                 SELECT @leasehold_held",
                hex(claim.key.full()),
                claim.token,
                now!(),
            );
            let held = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut *tx);
            let is_held = held.await?.try_get::<i64, _>(0)? == 1;
            if !is_held {
                tx.rollback().await?;
            }
            Ok(is_held)
        })
    }

    fn examine(connection: &mut MySqlConnection) -> Answer<'_, Vec<Finding>> {
        Box::pin(examine_settings::mysql::examine(connection))
    }

    shared_statements!(MySqlConnection);
}

/// Returns the statement with the values of its claims.
fn bound(sql: String, claims: &[&Claim]) -> Query<'static, MySql, MySqlArguments> {
    let mut bound = sqlx::query(AssertSqlSafe(sql)).persistent(claims.len() == 1);
    for claim in claims {
        let (key, owner) = (claim.key.full().to_owned(), claim.owner.to_bytes());
        bound = bound.bind(key).bind(owner.to_vec());
        bound = bound
            .bind(claim.token.get())
            .bind(micros(claim.ttl + MySql::CLOCK_STEP));
    }
    bound
}

/// Returns a statement, which is always prepared.
fn query(sql: &'static str, _prepare: bool) -> Query<'static, MySql, MySqlArguments> {
    sqlx::query(sql)
}

fn bytes(row: &MySqlRow, column: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
    row.try_get(column)
}

rows!(Query<'static, MySql, MySqlArguments>, MySqlRow);
