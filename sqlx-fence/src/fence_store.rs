use std::fmt;

use async_trait::async_trait;
use leasehold_core::{AdmitError, FenceStore, FencingToken};
use sqlx::Pool;

use crate::Error;
use crate::database::FencedDatabase;
use crate::fenced_transaction::Begin;

/// A [`FenceStore`] that stores the last seen token of each resource in the table `leasehold_fences` (see
/// [`ddl`](crate::ddl)).
///
/// Use it for resources outside of the database. For data in the database use [`Fence`](crate::Fence), which checks and
/// writes in one step.
///
/// If an open [`Fence::begin`](crate::Fence::begin) holds the fence of the resource, `admit` waits up to
/// [`DEFAULT_LOCK_TIMEOUT`](crate::DEFAULT_LOCK_TIMEOUT). After that, `admit` returns an error with [`Error::Busy`] as
/// its source.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold_sqlx::{FenceStore, FencingToken, SqlFenceStore, ddl};
///
/// # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
/// # let pool = options.connect("sqlite::memory:").await?;
/// ddl::create_fences(&pool).await?;
/// let fences = SqlFenceStore::new(pool);
/// fences.admit("file:report", FencingToken::try_from(9)?).await?;
/// assert!(fences.admit("file:report", FencingToken::try_from(7)?).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqlFenceStore<DB: FencedDatabase> {
    pool: Pool<DB>,
}

impl<DB: FencedDatabase> SqlFenceStore<DB> {
    /// Creates a store in this database.
    #[must_use]
    pub const fn new(pool: Pool<DB>) -> Self {
        Self { pool }
    }

    async fn claim(&self, resource: &str, token: FencingToken) -> Result<(), Error> {
        // Without the time limit of `begin`, the statement would wait for the row without limit on Postgres.
        let begin = Begin::new(token, &self.pool, resource.to_owned());
        let tx = begin.claimed().await?;
        Ok(tx.commit().await?)
    }
}

#[async_trait]
impl<DB: FencedDatabase> FenceStore for SqlFenceStore<DB> {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<(), AdmitError> {
        self.claim(resource, token)
            .await
            .map_err(|error| match error {
                Error::Stale(stale) => stale.into(),
                other => AdmitError::Store {
                    resource: resource.to_owned(),
                    source: other.into(),
                },
            })
    }
}

impl<DB: FencedDatabase> fmt::Debug for SqlFenceStore<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlFenceStore").finish_non_exhaustive()
    }
}
