//! The statements on Postgres.
//!
//! `clock_timestamp()` is the time at which the expression is evaluated, not the beginning of the statement. If a
//! statement waits for a concurrent change of its row, Postgres evaluates the conditions again after the wait.
//!
//! If the pool keeps no prepared statements, each operation is one simple query; see
//! [`postgres_simple_query`](super::postgres_simple_query).

use futures_util::StreamExt;
use leasehold_core::AttemptId;
use leasehold_core::backend::{Attempt, Claim};
use leasehold_core::check::Finding;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgListener, PgRow};
use sqlx::{
    AssertSqlSafe, ConnectOptions, PgConnection, Pool, Postgres, Row, Transaction, raw_sql,
};

use super::postgres_simple_query::{Statement, query};
use super::{Answer, LockDatabase, NO_AUTOCOMMIT, hex, is_old, owner, rows, shared_statements};
use crate::catalog::Table;
use crate::clock_micros::micros;
use crate::connection::pooler_detection;
use crate::examine_settings;
use crate::lock_row::{Reading, Record, Swept};
use crate::table_definitions;

/// The database's clock in microseconds since 1970.
macro_rules! now {
    () => {
        "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT"
    };
}

/// A column of bytes as hexadecimal text, because the replies to simple queries and to prepared statements have different
/// formats, and that of simple queries depends on the setting `bytea_output`.
macro_rules! hex {
    ($column:literal) => {
        concat!("ENCODE(", $column, ", 'hex')")
    };
}

/// The columns of a row, except for its key.
macro_rules! columns {
    () => {
        concat!(
            "version, ",
            hex!("owner"),
            ", token, expires_at, kept_until, closed_until, ",
            hex!("state"),
            ", label"
        )
    };
}

/// Returns the token of the acquired lock, or no row if the lock is not free.
const TAKE: &str = concat!(
    "INSERT INTO leasehold_locks AS l \
         (lock_key, version, owner, token, expires_at, kept_until, closed_until, label) \
     SELECT $1, ",
    now!(),
    ", $2, ",
    now!(),
    ", ",
    now!(),
    " + $3, 0, 0, $5 WHERE ",
    now!(),
    " < $4 \
     ON CONFLICT (lock_key) DO UPDATE SET version = l.version + 1, owner = $2, \
         token = GREATEST(",
    now!(),
    ", l.token + 1), expires_at = ",
    now!(),
    " + $3, state = NULL, label = $5 \
     WHERE l.expires_at <= ",
    now!(),
    " AND l.kept_until <= ",
    now!(),
    " AND l.closed_until <= ",
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
    ", ",
    columns!(),
    " FROM (VALUES (1)) AS always LEFT JOIN leasehold_locks ON lock_key = $1"
);

const UPDATE: &str = "UPDATE leasehold_locks SET version = version + 1, owner = $1, token = $2, expires_at = $3, \
     kept_until = $4, closed_until = $5, state = $6, label = $7 WHERE lock_key = $8 AND version = $9";

const CHANNEL: &str = "leasehold_locks";

const NOTIFY: &str = "SELECT pg_notify('leasehold_locks', $1)";

/// Does the same as `UPDATE`, and notifies the waiters when the change is committed. Returns a row for each waiter.
const NOTIFYING_UPDATE: &str = "WITH written AS (UPDATE leasehold_locks SET version = version + 1, owner = $1, \
     token = $2, expires_at = $3, kept_until = $4, closed_until = $5, state = $6, label = $7 \
     WHERE lock_key = $8 AND version = $9 RETURNING 1) \
     SELECT pg_notify('leasehold_locks', waiter)::TEXT FROM written, UNNEST($10::TEXT[]) AS w (waiter)";

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
    "UPDATE leasehold_locks AS l SET version = l.version + 1, expires_at = ",
    now!(),
    " + c.ttl \
     FROM UNNEST($1::TEXT[], $2::BYTEA[], $3::BIGINT[], $4::BIGINT[]) AS c (lock_key, owner, token, ttl) \
     WHERE l.lock_key = c.lock_key AND l.owner = c.owner AND l.token = c.token AND l.expires_at > ",
    now!(),
    " RETURNING ",
    hex!("l.owner")
);

const PAGE: &str = "SELECT MAX(lock_key) FROM \
     (SELECT lock_key FROM leasehold_locks WHERE lock_key > $1 ORDER BY lock_key LIMIT 1000) AS page";

/// Returns the rows with leases of 100 keys, from this key on.
const LIST: &str = concat!(
    "SELECT ",
    now!(),
    ", ",
    columns!(),
    ", lock_key FROM leasehold_locks WHERE lock_key >= $1 AND (expires_at > ",
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

impl LockDatabase for Postgres {
    const LOCKS: Table = table_definitions::locks(table_definitions::POSTGRES_LOCKS);
    const NOTIFIES: bool = true;

    fn prepares(pool: &Pool<Self>) -> bool {
        // The options have no other access to this value.
        let url = pool.connect_options().to_url_lossy();
        url.query_pairs()
            .find(|(name, _)| name == "statement-cache-capacity")
            .is_none_or(|(_, capacity)| capacity != "0")
    }

    fn listen<'c>(pool: &'c Pool<Self>, heard: &'c (dyn Fn(&str) + Sync)) -> Answer<'c, bool> {
        Box::pin(async move {
            // A pooler would keep the `LISTEN` in one of its connections, and other clients of that connection would
            // receive the notifications. Some drivers then fail. So check first.
            let [mut own, mut other] = [pool.acquire().await?, pool.acquire().await?];
            if pooler_detection::is_between(&mut own, &mut other).await? {
                return Ok(false);
            }
            drop((own, other));
            let mut listener = PgListener::connect_with(pool).await?;
            // Notifications are lost while there is no connection, so the caller must know of it.
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            while let Some(notification) = listener.try_recv().await? {
                heard(notification.payload());
            }
            Ok(true)
        })
    }

    fn notify<'c>(connection: &'c mut PgConnection, waiter: &'c str) -> Answer<'c, ()> {
        Box::pin(async move {
            query(NOTIFY, false)
                .bind(waiter)
                .execute(connection)
                .await?;
            Ok(())
        })
    }

    fn take<'c>(
        connection: &'c mut PgConnection,
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
            let row = take.fetch_optional(connection).await?;
            row.map(|row| row.try_get(0)).transpose()
        })
    }

    fn renew<'c>(
        connection: &'c mut PgConnection,
        prepare: bool,
        claims: &'c [&'c Claim],
    ) -> Answer<'c, Vec<AttemptId>> {
        Box::pin(async move {
            let keys: Vec<&str> = claims.iter().map(|it| it.key.full()).collect();
            let owners: Vec<_> = claims.iter().map(|it| it.owner.to_bytes()).collect();
            let tokens: Vec<i64> = claims.iter().map(|it| it.token.get()).collect();
            let ttls: Vec<i64> = claims
                .iter()
                .map(|it| micros(it.ttl + Self::CLOCK_STEP))
                .collect();
            let owners: Vec<&[u8]> = owners.iter().map(|it| &it[..]).collect();
            let renew = query(RENEW, prepare)
                .bind(keys)
                .bind(owners)
                .bind(tokens)
                .bind(ttls);
            let rows = renew.fetch_all(connection).await?;
            let renewed = rows.iter().map(|row| Ok(bytes(row, 0)?.and_then(owner)));
            let renewed: Result<Vec<_>, sqlx::Error> = renewed.collect();
            Ok(renewed?.into_iter().flatten().collect())
        })
    }

    fn update<'c>(
        connection: &'c mut PgConnection,
        prepare: bool,
        key: &'c str,
        after: &'c Record,
        waiters: &'c [String],
    ) -> Answer<'c, bool> {
        Box::pin(async move {
            if waiters.is_empty() {
                let update = update(UPDATE, prepare, key, after)
                    .execute(connection)
                    .await?;
                return Ok(update.rows_affected() > 0);
            }
            let waiters: Vec<&str> = waiters.iter().map(String::as_str).collect();
            let update = update(NOTIFYING_UPDATE, prepare, key, after).bind(waiters);
            Ok(!update.fetch_all(connection).await?.is_empty())
        })
    }

    fn commit<'c>(mut tx: Transaction<'static, Self>, claim: &'c Claim) -> Answer<'c, bool> {
        Box::pin(async move {
            // After an error the server skips the rest of the request. A rollback ends the new transaction of the chain
            // without a warning of the server.
            let sql = format!(
                "SELECT 1 / COUNT(*) FILTER (WHERE owner IS NOT NULL AND token = {} AND expires_at > {}) \
                 FROM (SELECT owner, token, expires_at FROM leasehold_locks \
                     WHERE lock_key = convert_from(decode('{}', 'hex'), 'UTF8') FOR UPDATE) AS lease; \
                 COMMIT AND CHAIN",
                claim.token,
                now!(),
                hex(claim.key.full()),
            );
            let mut replies = raw_sql(AssertSqlSafe(sql)).fetch_many(&mut *tx);
            let mut is_held = false;
            while let Some(reply) = replies.next().await {
                match reply {
                    Ok(_) => is_held = true,
                    Err(error) if !is_held && is_division_by_zero(&error) => break,
                    Err(error) => return Err(error),
                }
            }
            drop(replies);
            if !is_held {
                tx.rollback().await?;
            }
            Ok(is_held)
        })
    }

    fn examine(connection: &mut PgConnection) -> Answer<'_, Vec<Finding>> {
        Box::pin(examine_settings::postgres::examine(connection))
    }

    shared_statements!(PgConnection);
}

fn is_division_by_zero(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    database.and_then(DatabaseError::code).as_deref() == Some("22012")
}

/// Parses a column that is hexadecimal text.
fn bytes(row: &PgRow, column: usize) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let Some(text) = row.try_get::<Option<String>, _>(column)? else {
        return Ok(None);
    };
    let digits = text.as_bytes().chunks(2).map(str::from_utf8);
    let bytes = digits.map(|it| u8::from_str_radix(it.unwrap_or_default(), 16));
    let bytes: Result<Vec<u8>, _> = bytes.collect();
    bytes
        .map(Some)
        .map_err(|invalid| sqlx::Error::Decode(invalid.into()))
}

rows!(Statement, PgRow);
