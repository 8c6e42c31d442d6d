use std::time::Duration;

use sqlx::{Executor, MySqlPool, PgPool, SqlitePool};
use tokio::time::sleep;
use uuid::Uuid;

use crate::BoxError;
use crate::contestant::Contestant;

/// The two statements of a lease with a token, written by hand on a table with only the necessary columns. The
/// database's clock decides when a lease ends. A waiter polls. Renewal, fairness and notifications do not exist.
#[derive(Debug, Clone)]
pub(crate) enum Statements {
    Postgres(PgPool),
    MariaDb(MySqlPool),
    Sqlite(SqlitePool),
}

#[derive(Debug)]
pub(crate) struct Held {
    key: String,
    owner: Uuid,
    token: i64,
}

/// The lease in microseconds.
const TTL: i64 = 30_000_000;

/// The pause between two checks of a waiter.
const PAUSE: Duration = Duration::from_millis(10);

struct Sql {
    table: &'static str,
    acquire: &'static str,
    release: &'static str,
}

/// The statements of a database whose upsert has a condition and returns the token.
macro_rules! sql {
    (key: $key:literal, bytes: $bytes:literal, greatest: $greatest:literal, now: $now:literal $(,)?) => {
        Sql {
            table: concat!(
                "CREATE TABLE locks_by_hand (lock_key ",
                $key,
                " PRIMARY KEY, owner ",
                $bytes,
                ", token BIGINT NOT NULL, expires_at BIGINT NOT NULL)"
            ),
            acquire: concat!(
                "INSERT INTO locks_by_hand AS l (lock_key, owner, token, expires_at) \
                 VALUES ($1, $2, ",
                $now,
                ", ",
                $now,
                " + $3) \
                 ON CONFLICT (lock_key) DO UPDATE SET owner = $2, \
                 token = ",
                $greatest,
                "(",
                $now,
                ", l.token + 1), expires_at = ",
                $now,
                " + $3 \
                 WHERE l.expires_at <= ",
                $now,
                " RETURNING token"
            ),
            release: "UPDATE locks_by_hand SET owner = NULL, expires_at = 0 \
                 WHERE lock_key = $1 AND owner = $2 AND token = $3",
        }
    };
}

const POSTGRES: Sql = sql! {
    key: "TEXT COLLATE \"C\"",
    bytes: "BYTEA",
    greatest: "GREATEST",
    now: "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT",
};

const SQLITE: Sql = sql! {
    key: "TEXT NOT NULL",
    bytes: "BLOB",
    greatest: "MAX",
    now: "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000",
};

macro_rules! now {
    () => {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
    };
}

/// The server assigns the columns from left to right, so the column of the condition is last.
const MARIADB: Sql = Sql {
    table: "CREATE TABLE locks_by_hand (lock_key VARBINARY(255) PRIMARY KEY, owner BINARY(16), \
         token BIGINT NOT NULL, expires_at BIGINT NOT NULL) ENGINE=InnoDB",
    acquire: concat!(
        "INSERT INTO locks_by_hand (lock_key, owner, token, expires_at) \
         VALUES (?, ?, LAST_INSERT_ID(",
        now!(),
        "), ",
        now!(),
        " + ?) ON DUPLICATE KEY UPDATE owner = IF(expires_at <= ",
        now!(),
        ", VALUES(owner), owner), token = IF(expires_at <= ",
        now!(),
        ", LAST_INSERT_ID(GREATEST(",
        now!(),
        ", token + 1)), token + LAST_INSERT_ID(0)), expires_at = IF(expires_at <= ",
        now!(),
        ", VALUES(expires_at), expires_at)"
    ),
    release: "UPDATE locks_by_hand SET owner = NULL, expires_at = 0 \
         WHERE lock_key = ? AND owner = ? AND token = ?",
};

impl Statements {
    pub(crate) async fn create_table(&self) -> Result<(), BoxError> {
        match self {
            Self::Postgres(pool) => pool.execute(POSTGRES.table).await.map(drop)?,
            Self::MariaDb(pool) => pool.execute(MARIADB.table).await.map(drop)?,
            Self::Sqlite(pool) => pool.execute(SQLITE.table).await.map(drop)?,
        }
        Ok(())
    }

    /// Returns the token, or `None` if the lock is not free.
    async fn try_acquire(&self, key: &str, owner: Uuid) -> Result<Option<i64>, BoxError> {
        let owner = owner.as_bytes().as_slice();
        Ok(match self {
            Self::Postgres(pool) => {
                let acquire = sqlx::query_scalar(POSTGRES.acquire).bind(key);
                acquire.bind(owner).bind(TTL).fetch_optional(pool).await?
            }
            Self::MariaDb(pool) => {
                let acquire = sqlx::query(MARIADB.acquire).bind(key).bind(owner).bind(TTL);
                let token = acquire.execute(pool).await?.last_insert_id();
                Some(token.cast_signed()).filter(|&token| token > 0)
            }
            Self::Sqlite(pool) => {
                let acquire = sqlx::query_scalar(SQLITE.acquire).bind(key);
                acquire.bind(owner).bind(TTL).fetch_optional(pool).await?
            }
        })
    }
}

impl Contestant for Statements {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        let owner = Uuid::new_v4();
        loop {
            if let Some(token) = self.try_acquire(key, owner).await? {
                let key = key.to_owned();
                return Ok(Held { key, owner, token });
            }
            sleep(PAUSE).await;
        }
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        let Held { key, owner, token } = &held;
        let owner = owner.as_bytes().as_slice();
        let released = match self {
            Self::Postgres(pool) => {
                let release = sqlx::query(POSTGRES.release).bind(key).bind(owner);
                release.bind(token).execute(pool).await?.rows_affected()
            }
            Self::MariaDb(pool) => {
                let release = sqlx::query(MARIADB.release).bind(key).bind(owner);
                release.bind(token).execute(pool).await?.rows_affected()
            }
            Self::Sqlite(pool) => {
                let release = sqlx::query(SQLITE.release).bind(key).bind(owner);
                release.bind(token).execute(pool).await?.rows_affected()
            }
        };
        match released {
            1 => Ok(()),
            _ => Err("the lock was lost".into()),
        }
    }
}
