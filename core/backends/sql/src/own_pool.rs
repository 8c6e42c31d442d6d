//! The pool of a backend that connects on its own.

use std::num::NonZeroU32;
use std::time::Duration;

use sqlx::Connection;
use sqlx::pool::PoolOptions;

use super::database::LockDatabase;

/// The time without use after which a connection is tested before its next use. The server may have closed it.
const TEST_AFTER: Duration = Duration::from_secs(1);

/// Returns the options of the pool. By default, sqlx tests a connection before each use, which is one more round trip for
/// each operation. A pool with a limit keeps its connections, so that a renewal does not need a new one, which a full
/// server refuses.
pub(super) fn options<DB: LockDatabase>(max_connections: Option<NonZeroU32>) -> PoolOptions<DB> {
    let options = match max_connections {
        None => PoolOptions::<DB>::new().max_connections(DB::CONNECTIONS),
        Some(limit) => PoolOptions::new()
            .max_connections(limit.get())
            .idle_timeout(None)
            .max_lifetime(None),
    };
    let options = options
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

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn pool_with_a_limit_keeps_its_connections() {
        let options = options::<sqlx::Postgres>(Some(NonZeroU32::MIN));
        assert_eq!(options.get_max_connections(), 1);
        assert_eq!(options.get_idle_timeout(), None);
        assert_eq!(options.get_max_lifetime(), None);
    }
}
