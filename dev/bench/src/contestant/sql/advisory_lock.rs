use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgAdvisoryLock, PgAdvisoryLockGuard};
use sqlx::{PgPool, Postgres};

use crate::BoxError;
use crate::contestant::Contestant;

/// The lock of a session in `sqlx`. It does not have a lease or a token, and each holder and each waiter occupies a
/// connection.
#[derive(Debug, Clone)]
pub(crate) struct AdvisoryLock {
    pool: PgPool,
}

impl AdvisoryLock {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool }
    }
}

impl Contestant for AdvisoryLock {
    type Held = PgAdvisoryLockGuard<PoolConnection<Postgres>>;

    async fn acquire(&self, key: &str) -> Result<Self::Held, BoxError> {
        let connection = self.pool.acquire().await?;
        Ok(PgAdvisoryLock::new(key).acquire(connection).await?)
    }

    async fn release(&self, guard: Self::Held) -> Result<(), BoxError> {
        guard.release_now().await?;
        Ok(())
    }
}
