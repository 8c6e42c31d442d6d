//! Registers the databases for `LockManager::connect`.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use leasehold::backend::register_scheme;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use crate::SqlBackend;

/// Allows URLs of databases in [`LockManager::connect`](leasehold::LockManager::connect), and in `connect` of the
/// builder and of the blocking API.
///
/// | feature | URLs |
/// |---|---|
/// | `sqlite` | `sqlite:locks.db`, `sqlite:///var/lib/shop/locks.db` |
/// | `postgres` | `postgres://user:password@host/database`, `postgresql://…` |
/// | `mysql` | `mysql://user:password@host/database`, `mariadb://…` |
///
/// Call this function at the beginning of `main`. A second call has no effect. Each manager gets its own pool: see
/// [`SqlBackend::connect`](crate::SqlBackend::connect). For TLS, enable a TLS feature in your own dependency on sqlx.
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
    #[cfg(feature = "mysql")]
    for scheme in ["mariadb", "mysql"] {
        register_scheme(scheme, |url| async move {
            SqlBackend::<sqlx::MySql>::connect(&url).await
        });
    }
    #[cfg(feature = "postgres")]
    for scheme in ["postgres", "postgresql"] {
        register_scheme(scheme, |url| async move {
            SqlBackend::<sqlx::Postgres>::connect(&url).await
        });
    }
    #[cfg(feature = "sqlite")]
    register_scheme("sqlite", |url| async move {
        SqlBackend::<sqlx::Sqlite>::connect(&url).await
    });
}
