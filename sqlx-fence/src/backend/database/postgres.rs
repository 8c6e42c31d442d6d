//! The statements on Postgres.
//!
//! `clock_timestamp()` is the time at which the expression is evaluated, not the beginning of the statement. If a
//! statement waits for a concurrent change of its row, Postgres evaluates the conditions again after the wait.

use leasehold::backend::{Attempt, Claim};
use leasehold::{AttemptId, FencingToken};
use sqlx::postgres::{PgListener, PgRow};
use sqlx::query::Query;
use sqlx::{Database, PgConnection, Pool, Postgres, Row};

use super::{Answer, LockDatabase, is_old, owner, rows, shared_statements};
use crate::backend::record::{Reading, Record, Taken};
use crate::backend::times::micros;
use crate::schema;

/// The database's clock in microseconds since 1970.
macro_rules! now {
    () => {
        "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT"
    };
}

/// Returns the token of the acquired lock, or the row if the lock is not free.
const TAKE: &str = concat!(
    "WITH taken AS (INSERT INTO leasehold_locks AS l \
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
     RETURNING token) \
     SELECT ",
    now!(),
    ", NULL::BIGINT, NULL::BYTEA, token, 0::BIGINT, 0::BIGINT, 0::BIGINT, NULL::BYTEA, NULL::TEXT FROM taken \
     UNION ALL \
     SELECT ",
    now!(),
    ", version, owner, token, expires_at, kept_until, closed_until, state, label \
     FROM leasehold_locks WHERE lock_key = $1 AND NOT EXISTS (SELECT FROM taken)"
);

/// Returns a row even if the key does not have one, because the caller needs the time.
const READ: &str = concat!(
    "SELECT ",
    now!(),
    ", version, owner, token, expires_at, kept_until, closed_until, state, label \
     FROM (VALUES (1)) AS always LEFT JOIN leasehold_locks ON lock_key = $1"
);

const UPDATE: &str = "UPDATE leasehold_locks SET version = version + 1, owner = $1, token = $2, expires_at = $3, \
     kept_until = $4, closed_until = $5, state = $6, label = $7 WHERE lock_key = $8 AND version = $9";

const CHANNEL: &str = "leasehold_locks";

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
    " \
     RETURNING l.owner"
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

impl LockDatabase for Postgres {
    const LOCKS: &'static str = schema::POSTGRES_LOCKS;
    const NOTIFIES: bool = true;

    fn listen<'c>(pool: &'c Pool<Self>, notify: &'c (dyn Fn(&str) + Sync)) -> Answer<'c, ()> {
        Box::pin(async move {
            let mut listener = PgListener::connect_with(pool).await?;
            listener.listen(CHANNEL).await?;
            loop {
                notify(listener.recv().await?.payload());
            }
        })
    }

    fn take<'c>(
        connection: &'c mut PgConnection,
        attempt: &'c Attempt,
        expiry: i64,
    ) -> Answer<'c, Taken> {
        Box::pin(async move {
            let owner = attempt.owner.to_bytes();
            let take = sqlx::query(TAKE)
                .bind(attempt.key.full())
                .bind(owner.as_slice())
                .bind(micros(attempt.ttl))
                .bind(expiry)
                .bind(attempt.owner.label());
            let Some(row) = take.fetch_optional(&mut *connection).await? else {
                // The statement is late, or another client has changed the row since the statement began.
                return Ok(Taken::Busy(
                    Self::read(connection, attempt.key.full()).await?,
                ));
            };
            let busy = reading(&row)?;
            if busy.record.is_some() {
                return Ok(Taken::Busy(busy));
            }
            let token = FencingToken::try_from(row.try_get::<i64, _>(3)?);
            let token = token.map_err(|invalid| sqlx::Error::Decode(invalid.into()))?;
            Ok(Taken::Token(token))
        })
    }

    fn renew<'c>(
        connection: &'c mut PgConnection,
        claims: &'c [&'c Claim],
    ) -> Answer<'c, Vec<AttemptId>> {
        Box::pin(async move {
            let keys: Vec<&str> = claims.iter().map(|it| it.key.full()).collect();
            let owners = claims.iter().map(|it| it.owner.to_bytes().to_vec());
            let owners: Vec<Vec<u8>> = owners.collect();
            let tokens: Vec<i64> = claims.iter().map(|it| it.token.get()).collect();
            let ttls: Vec<i64> = claims.iter().map(|it| micros(it.ttl)).collect();
            let renew = sqlx::query_scalar(RENEW)
                .bind(keys)
                .bind(owners)
                .bind(tokens)
                .bind(ttls);
            let renewed: Vec<Vec<u8>> = renew.fetch_all(connection).await?;
            Ok(renewed.into_iter().filter_map(owner).collect())
        })
    }

    fn update<'c>(
        connection: &'c mut PgConnection,
        key: &'c str,
        after: &'c Record,
        waiters: &'c [String],
    ) -> Answer<'c, bool> {
        Box::pin(async move {
            if waiters.is_empty() {
                let update = update(UPDATE, key, after).execute(connection).await?;
                return Ok(update.rows_affected() > 0);
            }
            let update = update(NOTIFYING_UPDATE, key, after).bind(waiters);
            Ok(!update.fetch_all(connection).await?.is_empty())
        })
    }

    shared_statements!(PgConnection);
}

rows!(Postgres, PgRow);
