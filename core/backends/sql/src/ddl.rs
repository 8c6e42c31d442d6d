//! Creates the table of the locks.

use std::future::Future;

use sqlx::Acquire;

use crate::LockDatabase;
use crate::catalog::{TableError, ensure};
pub use crate::table_definitions::{MYSQL_LOCKS, POSTGRES_LOCKS, SQLITE_LOCKS};

/// Creates the table `leasehold_locks` of [`SqlBackend`](crate::SqlBackend) if it does not exist.
///
/// # Errors
///
/// - [`TableError::Unusable`]: the existing table has other columns or a storage engine without transactions, or on
///   Postgres, it is in a schema that this role does not use.
/// - [`TableError::Database`]: the database failed, for example because the role may not create tables.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` over `Acquire` cannot be spawned"
)]
pub fn create_locks<'a, 'c: 'a, A>(
    at: A,
) -> impl Future<Output = Result<(), TableError>> + Send + 'a
where
    A: Acquire<'c, Database: LockDatabase> + Send + 'a,
{
    async move {
        let mut connection = at.acquire().await?;
        ensure::<A::Database>(&mut connection, A::Database::LOCKS).await
    }
}
