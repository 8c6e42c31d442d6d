//! The statements on the lock table, for each database.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_simple_query;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::future::pending;
use std::time::Duration;

use leasehold_core::AttemptId;
use leasehold_core::backend::{Attempt, Claim};
use leasehold_core::check::Finding;
use sqlx::{Pool, Transaction};

use super::connection::Connect;
use super::lock_row::{Reading, Record, Swept};
pub(crate) use crate::catalog::Answer;
use crate::catalog::Table;

/// A database that can store locks: `Postgres`, `MySql` and `Sqlite` of sqlx, each with the feature of the same name.
///
/// This trait is sealed and cannot be implemented outside of this crate.
pub trait LockDatabase: Connect {
    /// The table `leasehold_locks`.
    const LOCKS: Table;

    /// The steps in which the database's clock advances.
    const CLOCK_STEP: Duration = Duration::from_micros(1);

    /// Whether `update` notifies waiters of other processes.
    const NOTIFIES: bool = false;

    /// Returns whether the connections of this pool keep prepared statements. If they do not, `prepare` is false in the
    /// other methods, and each of them sends simple queries.
    #[must_use]
    fn prepares(pool: &Pool<Self>) -> bool {
        let _ = pool;
        true
    }

    /// Calls `heard` for each waiter that an `update` of another process notifies, until the connection is lost. Returns
    /// false if a pooler does not forward notifications.
    fn listen<'c>(pool: &'c Pool<Self>, heard: &'c (dyn Fn(&str) + Sync)) -> Answer<'c, bool> {
        let (_, _) = (pool, heard);
        Box::pin(pending())
    }

    /// Notifies a waiter of any process.
    fn notify<'c>(connection: &'c mut Self::Connection, waiter: &'c str) -> Answer<'c, ()> {
        let (_, _) = (connection, waiter);
        Box::pin(pending())
    }

    /// Acquires a lock that is free and has no waiters, if the database's clock is before `expiry`, and returns its token.
    /// Otherwise changes nothing.
    fn take<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        attempt: &'c Attempt,
        expiry: i64,
    ) -> Answer<'c, Option<i64>>;

    /// Reads the row of a key.
    fn read<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        key: &'c str,
    ) -> Answer<'c, Reading>;

    /// Overwrites a row that still has the version of `after`, and notifies these waiters of other processes. Returns
    /// false if the row has another version.
    fn update<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        key: &'c str,
        after: &'c Record,
        waiters: &'c [String],
    ) -> Answer<'c, bool>;

    /// Inserts a row if the key does not have one, and the database's clock is before `expiry`. Returns false otherwise.
    fn insert<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        key: &'c str,
        after: &'c Record,
        expiry: i64,
    ) -> Answer<'c, bool>;

    /// Renews the leases of exclusive holders, and returns the owners of the renewed leases.
    fn renew<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        claims: &'c [&'c Claim],
    ) -> Answer<'c, Vec<AttemptId>>;

    /// Reads the rows with leases of 100 keys, from the key `from` on.
    fn list<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        from: &'c str,
    ) -> Answer<'c, Vec<(String, Reading)>>;

    /// Examines the settings of the database.
    fn examine(connection: &mut Self::Connection) -> Answer<'_, Vec<Finding>>;

    /// Deletes the old rows among the next 1000 keys after `after`.
    fn sweep<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        after: &'c str,
    ) -> Answer<'c, Swept>;

    /// Ends the lease of an exclusive holder if the row contains nothing else. Returns false if nothing changed.
    fn release<'c>(
        connection: &'c mut Self::Connection,
        prepare: bool,
        claim: &'c Claim,
    ) -> Answer<'c, bool>;

    /// Locks the row of an exclusive holder, and commits the transaction if the lease has not ended. Returns false, and
    /// does not commit, if it has. A server does both in one request, because a client that is paused in between would
    /// keep the row locked beyond the lease.
    ///
    /// sqlx does not know of a commit in such a request, so it rolls back afterwards. This rollback changes nothing. The
    /// request identifies the holder by its token, because sqlx logs the text of a statement, and the owner is a secret.
    fn commit<'c>(tx: Transaction<'static, Self>, claim: &'c Claim) -> Answer<'c, bool>;
}

/// Implements the statements that have the same values in each database, with the constants of the module.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! shared_statements {
    ($connection:ty) => {
        fn read<'c>(
            connection: &'c mut $connection,
            prepare: bool,
            key: &'c str,
        ) -> Answer<'c, Reading> {
            Box::pin(async move {
                let row = query(READ, prepare).bind(key).fetch_one(connection).await?;
                reading(&row)
            })
        }

        fn insert<'c>(
            connection: &'c mut $connection,
            prepare: bool,
            key: &'c str,
            after: &'c Record,
            expiry: i64,
        ) -> Answer<'c, bool> {
            Box::pin(async move {
                let insert = query(INSERT, prepare)
                    .bind(key)
                    .bind(after.owner.as_deref())
                    .bind(after.token)
                    .bind(after.expires_at)
                    .bind(after.kept_until)
                    .bind(after.closed_until)
                    .bind(after.state.as_deref())
                    .bind(after.label.as_deref())
                    .bind(expiry);
                Ok(insert.execute(connection).await?.rows_affected() > 0)
            })
        }

        fn list<'c>(
            connection: &'c mut $connection,
            prepare: bool,
            from: &'c str,
        ) -> Answer<'c, Vec<(String, Reading)>> {
            Box::pin(async move {
                let list = query(LIST, prepare).bind(from);
                let rows = list.fetch_all(connection).await?;
                let rows = rows.iter();
                // The key is a column of bytes on MySQL.
                rows.map(|row| Ok((row.try_get_unchecked(9)?, reading(row)?)))
                    .collect()
            })
        }

        fn sweep<'c>(
            connection: &'c mut $connection,
            prepare: bool,
            after: &'c str,
        ) -> Answer<'c, Swept> {
            Box::pin(async move {
                let page = query(PAGE, prepare).bind(after);
                let page = page.fetch_one(&mut *connection).await?;
                // The key is a column of bytes on MySQL.
                let last: Option<String> = page.try_get_unchecked(0)?;
                let deleted = match &last {
                    None => 0,
                    Some(last) => {
                        let sweep = query(SWEEP, prepare).bind(after).bind(last.as_str());
                        sweep.execute(connection).await?.rows_affected()
                    }
                };
                Ok(Swept { deleted, last })
            })
        }

        fn release<'c>(
            connection: &'c mut $connection,
            prepare: bool,
            claim: &'c Claim,
        ) -> Answer<'c, bool> {
            Box::pin(async move {
                let owner = claim.owner.to_bytes();
                let release = query(RELEASE, prepare)
                    .bind(claim.key.full())
                    .bind(owner.as_slice())
                    .bind(claim.token.get());
                Ok(release.execute(connection).await?.rows_affected() > 0)
            })
        }
    };
}

/// The condition for a row that nothing has used for an hour. The hour is much longer than a process may be stopped
/// between two steps of a statement. The last token is less than the clock, so that the next token is greater.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! is_old {
    () => {
        concat!(
            "expires_at < ",
            now!(),
            " - 3600000000 AND kept_until < ",
            now!(),
            " - 3600000000 \
             AND closed_until < ",
            now!(),
            " - 3600000000 AND token < ",
            now!(),
            " - 3600000000 \
             AND version < ",
            now!(),
            " - 3600000000"
        )
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
const NO_AUTOCOMMIT: &str = "`autocommit` is off on the connections of the pool, so the database would not commit the locks: \
     execute `SET autocommit = 1` in `after_connect` of the pool";

/// Defines the function that binds the values of `UPDATE`, and the function that parses a row with the columns of `READ`.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! rows {
    ($statement:ty, $row:ty) => {
        fn update(sql: &'static str, prepare: bool, key: &str, after: &Record) -> $statement {
            query(sql, prepare)
                .bind(after.owner.as_deref())
                .bind(after.token)
                .bind(after.expires_at)
                .bind(after.kept_until)
                .bind(after.closed_until)
                .bind(after.state.as_deref())
                .bind(after.label.as_deref())
                .bind(key)
                .bind(after.version)
        }

        fn reading(row: &$row) -> Result<Reading, sqlx::Error> {
            let version: Option<i64> = row.try_get(1)?;
            let record = match version {
                None => None,
                Some(version) => Some(Record {
                    version,
                    owner: bytes(row, 2)?,
                    token: row.try_get(3)?,
                    expires_at: row.try_get(4)?,
                    kept_until: row.try_get(5)?,
                    closed_until: row.try_get(6)?,
                    state: bytes(row, 7)?,
                    // The label is a column of bytes on MySQL.
                    label: row.try_get_unchecked(8)?,
                }),
            };
            let now: Option<i64> = row.try_get(0)?;
            Ok(Reading {
                now: now.ok_or_else(|| sqlx::Error::Configuration(NO_AUTOCOMMIT.into()))?,
                record,
            })
        }
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use {is_old, rows, shared_statements};

/// Returns hexadecimal digits, as a value in a statement that is not prepared.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the id in a column `owner`.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn owner(bytes: Vec<u8>) -> Option<AttemptId> {
    bytes.try_into().ok().map(AttemptId::from_bytes)
}
