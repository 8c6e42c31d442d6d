//! Registers the databases for `LockManager::connect`.

use std::num::NonZeroU32;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use leasehold::backend::register_scheme;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use crate::{SqlBackend, backend::CAPABILITIES};

/// Allows URLs of databases in [`LockManager::connect`](leasehold::LockManager::connect), and in `connect` of the
/// builder and of the blocking API.
///
/// | feature | URLs |
/// |---|---|
/// | `sqlite` | `sqlite:locks.db`, `sqlite:///var/lib/shop/locks.db` |
/// | `postgres` | `postgres://user:password@host/database`, `postgresql://…` |
/// | `mysql` | `mysql://user:password@host/database`, `mariadb://…` |
///
/// Call this function at the beginning of `main`. A later call only restores the default number of connections, for the
/// managers that connect after it. Each manager gets its own pool: see
/// [`SqlBackend::connect`](crate::SqlBackend::connect). TLS needs the feature
/// `tls-rustls`, or a TLS feature in your own dependency on sqlx.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// #[tokio::main]
/// async fn main() -> Result<(), leasehold::Error> {
///     # let folder = tempfile::tempdir().unwrap();
///     # std::env::set_current_dir(&folder).unwrap();
///     leasehold_sqlx::install_backends();
///
///     // Processes that connect to the same file share its locks. They need no server.
///     let locks = leasehold::LockManager::connect("sqlite:locks.db").await?;
///     let guard = locks.lock("order:42").acquire().await?;
///     guard.release().await?;
///     locks.shutdown().await
/// }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
pub fn install_backends() {
    install(None);
}

/// Like [`install_backends`], with at most `max_connections` connections for each manager.
///
/// A process that holds or waits for one lock needs one connection. With fewer than three connections, waiters poll
/// instead of listening for notifications, so on Postgres the next holder may begin up to 320 ms later. The connections
/// stay open until the shutdown of the manager. So a renewal does not need a new connection, which a server without a
/// free one refuses.
///
/// A second call replaces the number. A call of [`install_backends`] restores the default.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// #[tokio::main]
/// async fn main() -> Result<(), leasehold::Error> {
///     # let folder = tempfile::tempdir().unwrap();
///     # std::env::set_current_dir(&folder).unwrap();
///     leasehold_sqlx::install_backends_with_max_connections(std::num::NonZeroU32::MIN);
///     let locks = leasehold::LockManager::connect("sqlite:locks.db").await?;
///     let guard = locks.lock("order:42").acquire().await?;
///     guard.release().await?;
///     locks.shutdown().await
/// }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
pub fn install_backends_with_max_connections(max_connections: NonZeroU32) {
    install(Some(max_connections));
}

fn install(max_connections: Option<NonZeroU32>) {
    // Without the feature of a database, nothing uses it.
    let _unused = max_connections;
    #[cfg(feature = "mysql")]
    for scheme in ["mariadb", "mysql"] {
        register_scheme(scheme, CAPABILITIES, move |url| async move {
            SqlBackend::<sqlx::MySql>::open(&url, max_connections).await
        });
    }
    #[cfg(feature = "postgres")]
    for scheme in ["postgres", "postgresql"] {
        register_scheme(scheme, CAPABILITIES, move |url| async move {
            SqlBackend::<sqlx::Postgres>::open(&url, max_connections).await
        });
    }
    #[cfg(feature = "sqlite")]
    register_scheme("sqlite", CAPABILITIES, move |url| async move {
        SqlBackend::<sqlx::Sqlite>::open(&url, max_connections).await
    });
}
