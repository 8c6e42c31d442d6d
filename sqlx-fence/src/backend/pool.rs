//! The pool of a backend that connects on its own.

use std::time::Duration;

use sqlx::Connection;
use sqlx::pool::PoolOptions;

use super::database::LockDatabase;

/// The time without use after which a connection is tested before its next use. The server may have closed it.
const TEST_AFTER: Duration = Duration::from_secs(1);

/// Returns the options of the pool. By default, sqlx tests a connection before each use, which is one more round trip for
/// each operation.
pub(super) fn options<DB: LockDatabase>() -> PoolOptions<DB> {
    let options = PoolOptions::<DB>::new()
        .test_before_acquire(false)
        .after_connect(|connection, _| DB::set_session(connection));
    options.before_acquire(|connection, usage| {
        Box::pin(async move {
            if usage.idle_for > TEST_AFTER {
                connection.ping().await?;
            }
            Ok(true)
        })
    })
}
