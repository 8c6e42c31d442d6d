//! Records of responses, at most one for each idempotency key.

use std::fmt;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::{Database, Pool, Transaction};

use crate::database::{Driver, FencedDatabase};
use crate::fenced_transaction::to_its_end;
use crate::idempotency_record::IdempotencyRecord;
use crate::{Error, FencedTransaction, resource_names};
use leasehold_sql::catalog::Obstacle;

impl IdempotencyRecord {
    /// Inserts the record in the transaction of its work. The record expires after `keep`. On Postgres this time counts
    /// from the begin of the transaction, and on `MySQL`, `MariaDB` and `SQLite` from this statement. `keep` is rounded up
    /// to whole seconds.
    ///
    /// The key is the primary key of the table. So only one transaction per key commits, even if a late holder of the
    /// lock continues. If another transaction has inserted a record for this key, the call waits for its end.
    ///
    /// After an error, drop the transaction.
    ///
    /// # Errors
    ///
    /// - [`Error::AlreadyRecorded`]: another transaction has committed a record for this key. An expired record also
    ///   counts, until [`find`](SqlIdempotencyStore::find) or
    ///   [`delete_expired`](SqlIdempotencyStore::delete_expired) deletes it.
    /// - [`Error::Name`]: the key is empty, longer than 512 bytes, or contains a NUL.
    /// - [`Error::Sqlx`]: the database failed, for example because the table does not exist.
    ///
    /// # Cancel safety
    ///
    /// If you drop the call, drop the transaction, too.
    pub async fn insert<T: OpenTransaction>(
        &self,
        transaction: &mut T,
        keep: Duration,
    ) -> Result<(), Error> {
        resource_names::check("idempotency key", &self.key)?;
        let inserted = T::Database::insert_record(transaction.connection(), self, seconds(keep));
        inserted.await.map_err(|error| self.refused(error))
    }

    fn refused(&self, error: sqlx::Error) -> Error {
        let database = error.as_database_error();
        if database.is_some_and(DatabaseError::is_unique_violation) {
            return Error::AlreadyRecorded {
                key: self.key.clone(),
            };
        }
        error.into()
    }
}

/// Stores at most one response for each idempotency key, in the table `leasehold_idempotency_records` (see
/// [`ddl`](crate::ddl)).
///
/// `IdempotencyLayer` of `leasehold-tower` uses this store with its features `idempotency` and `sqlx`. Without HTTP, for
/// example in a consumer of a message queue, use it directly:
///
/// 1. Acquire the lock of the key.
/// 2. Call [`find`](Self::find). If it returns a record, return the recorded response.
/// 3. Work and [insert the record](IdempotencyRecord::insert) in one transaction.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use leasehold_sqlx::{Error, IdempotencyRecord, SqlIdempotencyStore, ddl};
///
/// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
/// # let pool = options.connect("sqlite::memory:").await?;
/// ddl::create_idempotency_records(&pool).await?; // once, or in your migrations
/// let store = SqlIdempotencyStore::new(pool.clone());
/// let record = IdempotencyRecord {
///     key: "message:42".to_owned(),
///     token: 7, // guard.token().get()
///     response: b"shipped".to_vec(),
/// };
/// let keep = Duration::from_secs(60 * 60 * 24);
///
/// let mut tx = pool.begin().await?;
/// // Write here. The writes and the record are committed together, or not at all.
/// record.insert(&mut tx, keep).await?;
/// tx.commit().await?;
/// assert_eq!(store.find("message:42").await?, Some(record.clone()));
///
/// let mut late = pool.begin().await?;
/// let refused = record.insert(&mut late, keep).await;
/// assert!(matches!(refused, Err(Error::AlreadyRecorded { .. })));
/// # Ok(())
/// # }
/// ```
pub struct SqlIdempotencyStore<DB: FencedDatabase> {
    pool: Pool<DB>,
}

impl<DB: FencedDatabase> SqlIdempotencyStore<DB> {
    /// Creates a store in this database.
    #[must_use]
    pub const fn new(pool: Pool<DB>) -> Self {
        Self { pool }
    }

    /// Returns the record of a key. Deletes the record instead if it has expired.
    ///
    /// On Postgres, `MySQL` and `MariaDB` the search is a statement that writes or locks, so that a balancer sends it to the
    /// primary. A replica may be behind, and a handler would run twice.
    ///
    /// # Errors
    ///
    /// - [`Error::Name`]: the key is empty, longer than 512 bytes, or contains a NUL.
    /// - [`Error::ReadOnly`]: the pool is connected to a server that takes no writes.
    /// - [`Error::Sqlx`]: the pool returned no connection, the table does not exist, or the database failed.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe. In a tokio runtime its statements run to their end.
    pub async fn find(&self, key: &str) -> Result<Option<IdempotencyRecord>, Error> {
        resource_names::check("idempotency key", key)?;
        let (pool, key) = (self.pool.clone(), key.to_owned());
        let found = to_its_end(async move {
            loop {
                match find_unexpired(&pool, &key).await {
                    Err(conflict) if DB::obstacle(&conflict) == Some(Obstacle::Conflict) => {}
                    found => return found,
                }
            }
        });
        Ok(found.await?)
    }

    /// Inserts a record in its own transaction, for work that this database does not commit. The record expires after
    /// `keep`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`IdempotencyRecord::insert`].
    ///
    /// # Cancel safety
    ///
    /// In a tokio runtime, a dropped call still inserts the record.
    pub async fn insert(&self, record: &IdempotencyRecord, keep: Duration) -> Result<(), Error> {
        resource_names::check("idempotency key", &record.key)?;
        let (pool, inserted) = (self.pool.clone(), record.clone());
        let insert = to_its_end(async move {
            let mut tx = pool.begin().await?;
            DB::insert_record(&mut tx, &inserted, seconds(keep)).await?;
            tx.commit().await
        });
        insert.await.map_err(|error| record.refused(error))
    }

    /// Deletes all expired records, and returns their number. Call this method periodically, for example once an hour:
    /// otherwise the table keeps the records of all keys that are not used again.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Sqlx`] if the pool returned no connection, or the database failed.
    ///
    /// # Cancel safety
    ///
    /// In a tokio runtime, a dropped call still deletes the records.
    pub async fn delete_expired(&self) -> Result<u64, Error> {
        let pool = self.pool.clone();
        Ok(to_its_end(async move { delete_expired(&pool, None).await }).await?)
    }
}

impl<DB: FencedDatabase> Clone for SqlIdempotencyStore<DB> {
    fn clone(&self) -> Self {
        Self::new(self.pool.clone())
    }
}

impl<DB: FencedDatabase> fmt::Debug for SqlIdempotencyStore<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlIdempotencyStore")
            .finish_non_exhaustive()
    }
}

/// Returns the record of a key, after deleting an expired one, because `insert` fails if a record exists.
async fn find_unexpired<DB: FencedDatabase>(
    pool: &Pool<DB>,
    key: &str,
) -> Result<Option<IdempotencyRecord>, sqlx::Error> {
    loop {
        let mut tx = pool.begin().await?;
        let found = DB::find_record(&mut tx, key).await?;
        tx.commit().await?;
        match found {
            Some((_, seconds)) if seconds <= 0 => {
                delete_expired(pool, Some(key)).await?;
            }
            found => return Ok(found.map(|(record, _)| record)),
        }
    }
}

/// Deletes the record of this key if it has expired, or without a key all expired records.
///
/// Like [`SqlIdempotencyStore::insert`], this function commits a transaction. A statement alone is not enough: if other
/// code has dropped a `Pool::begin`, sqlx 0.9 may leave a transaction open on a connection of the pool. The database
/// then confirms the statement, and rolls it back later. [`SqlIdempotencyStore::find`] would read an old snapshot.
async fn delete_expired<DB: FencedDatabase>(
    pool: &Pool<DB>,
    key: Option<&str>,
) -> Result<u64, sqlx::Error> {
    let mut tx = pool.begin().await?;
    let deleted = DB::delete_expired_records(&mut tx, key).await?;
    tx.commit().await?;
    Ok(deleted)
}

/// Rounds up to whole seconds.
fn seconds(keep: Duration) -> i64 {
    // The sum with the time of day must not overflow.
    let most = i64::from(u32::MAX);
    i64::try_from(keep.as_nanos().div_ceil(1_000_000_000)).map_or(most, |it| it.min(most))
}

/// An open transaction: [`sqlx::Transaction`], [`FencedTransaction`] or `LockedTransaction`.
///
/// This trait is sealed and cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transaction",
    note = "begin one with `pool.begin()`, and pass `&mut tx`"
)]
pub trait OpenTransaction: HasConnection {}

/// Access to the connection of a transaction. Although this trait is `pub`, other crates cannot name it.
pub trait HasConnection: Send {
    /// The database of the transaction.
    type Database: FencedDatabase;

    /// Returns the connection, whose statements are not fenced.
    fn connection(&mut self) -> &mut <Self::Database as Database>::Connection;
}

impl<DB: FencedDatabase> OpenTransaction for Transaction<'_, DB> {}

impl<DB: FencedDatabase> HasConnection for Transaction<'_, DB> {
    type Database = DB;

    fn connection(&mut self) -> &mut DB::Connection {
        self
    }
}

impl<DB: FencedDatabase> OpenTransaction for FencedTransaction<DB> {}

impl<DB: FencedDatabase> HasConnection for FencedTransaction<DB> {
    type Database = DB;

    fn connection(&mut self) -> &mut DB::Connection {
        &mut self.tx
    }
}
