//! Connects to a database by URL, with a pool for the locks.

use std::num::NonZeroU32;
use std::time::Duration;

use leasehold_core::backend::{BackendError, ConnectError};
use sqlx::Connection;
use tokio::time::{sleep, timeout};

use super::connection::Options;
use super::database::LockDatabase;
use super::{SqlBackend, error, own_pool};
use crate::catalog::{TableError, ensure};
use crate::{READ_ONLY, is_read_only};

/// The time limit of `connect`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time limit of the check for a pooler.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// The feature that a URL with TLS needs.
const TLS: &str = "tls-rustls";

const CERTIFICATE: &str = "the certificate of the server is not trusted: let the URL name the certificate of its authority, with \
     `sslrootcert` (MySQL: `ssl-ca`), add it to those that the system trusts, or use the host name of the certificate";

/// The pause after another process has blocked a statement of `connect`.
const PAUSE: Duration = Duration::from_millis(20);

impl<DB: LockDatabase> SqlBackend<DB> {
    /// Connects to the database at `url` with a pool for this backend, and creates the table if it does not exist.
    /// The pool tests a connection before its use only after a second without use.
    /// [`LockManager::shutdown`](leasehold_core::LockManager::shutdown) closes the pool.
    ///
    /// On Postgres, a table in another schema of the database is not replaced by a second one, because roles that use
    /// different tables do not exclude each other. A second table that is meant needs
    /// [`ddl::POSTGRES_LOCKS`](crate::ddl::POSTGRES_LOCKS) in a migration. On `MySQL` and `MariaDB`, the sessions have
    /// `autocommit = 1` and `sql_safe_updates = 0`, whatever the defaults of the server are.
    ///
    /// On `SQLite`, this function also creates the file if the URL has no `mode`, and sets the file's journal mode to
    /// `WAL`. The connections use `synchronous = NORMAL`, and wait for at most a second for the file's write lock. The
    /// pool has at most 4 connections, and at most 10 on the other databases. To choose other settings, use
    /// [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// - [`ConnectError::Url`]: the URL is invalid, or names a database that cannot store locks, such as
    ///   `sqlite::memory:`, or a file that has a hard link or is mounted alone into a container.
    /// - [`ConnectError::MissingFeature`]: the URL demands TLS, and neither this crate nor sqlx has a feature for it.
    /// - [`ConnectError::Server`]: the certificate of the server is not trusted, the database does not reply within 5 seconds or refuses the connection, the role may not
    ///   create or use the table, or the table is one of another version, has no transactions, or is in a schema that the
    ///   role does not use.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection. A created file or table stays.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::open(url, None).await
    }

    /// Connects with at most this number of connections, or with the default number.
    pub(crate) async fn open(
        url: &str,
        max_connections: Option<NonZeroU32>,
    ) -> Result<Self, ConnectError> {
        let options = DB::options(url).map_err(refused_url)?;
        let address = DB::address(&options);
        let is_capacity_set = url.contains("statement-cache-capacity");
        let prepared = match timeout(CONNECT_TIMEOUT, prepare::<DB>(options, is_capacity_set)).await
        {
            Ok(prepared) => prepared,
            Err(_elapsed) => {
                let late = format!(
                    "the database did not reply within {CONNECT_TIMEOUT:?}: check the address, and that a database of this \
                     kind listens there; another process may also block it"
                );
                Err(Failed::Database(BackendError::not_applied(late)))
            }
        };
        match prepared {
            Ok(options) => {
                let pool = own_pool::options(max_connections);
                Ok(Self::with(pool.connect_lazy_with(options), true))
            }
            Err(Failed::Url(reason)) => Err(ConnectError::Url {
                source: reason.into(),
            }),
            Err(Failed::NoTls) => Err(ConnectError::MissingFeature { feature: TLS }),
            Err(Failed::Database(source)) => Err(ConnectError::Server { address, source }),
        }
    }
}

/// The reason why a database cannot be used.
enum Failed {
    /// The URL names a database that cannot store locks.
    Url(&'static str),
    /// The URL demands TLS, and sqlx has no feature for it.
    NoTls,
    Database(BackendError),
}

impl Failed {
    fn connecting(error: sqlx::Error) -> Self {
        if error::needs_tls(&error) {
            return Self::NoTls;
        }
        let message = match &error {
            _ if error::is_untrusted(&error) => CERTIFICATE,
            sqlx::Error::Io(_) => {
                "the server cannot be reached: check that it runs, and check the address in the URL"
            }
            // SQLite's code for a file that it cannot open.
            sqlx::Error::Database(error) if error.code().as_deref() == Some("14") => {
                "cannot open the file: check that its folder exists, and that this process may write to the folder"
            }
            sqlx::Error::Database(error) if error::is_startup_parameter(&**error) => {
                error::STARTUP_PARAMETER
            }
            sqlx::Error::Tls(_) => {
                "TLS failed: check whether the server has TLS. With `sslmode=disable` in the URL (MySQL: \
                 `ssl-mode=DISABLED`), the client does not use TLS"
            }
            _ => {
                "the database refused the connection: check the user, the password and the database in the URL"
            }
        };
        Self::refused(message, error)
    }

    fn creating(error: TableError) -> Self {
        let error = match error {
            // A new connection may reach a new primary.
            TableError::Database(error) if is_read_only(&error) => {
                return Self::Database(BackendError::not_applied(READ_ONLY).with_source(error));
            }
            TableError::Database(error) => error,
            TableError::Unusable { .. } => {
                return Self::Database(BackendError::not_applied(error.to_string()).permanent());
            }
        };
        let message = match error::is_denied(&error) {
            true => {
                "cannot create the table `leasehold_locks`: allow the role to create tables in the schema, or let another \
                 role connect once, and grant SELECT, INSERT, UPDATE and DELETE on the table to this role"
            }
            false => "cannot create the table `leasehold_locks`",
        };
        Self::refused(message, error)
    }

    fn refused(message: &str, error: sqlx::Error) -> Self {
        let is_temporary = error::is_temporary_refusal(&error);
        let failed = BackendError::not_applied(message).with_source(error);
        Self::Database(match is_temporary {
            true => failed,
            false => failed.permanent(),
        })
    }
}

/// Connects once, so that an error has its cause. A pool would retry until its timeout. Returns the options of the pool,
/// which sends simple queries through a pooler in transaction mode, unless the URL has set the number of prepared
/// statements.
async fn prepare<DB: LockDatabase>(
    mut options: Options<DB>,
    is_capacity_set: bool,
) -> Result<Options<DB>, Failed> {
    let connected = DB::Connection::connect_with(&options).await;
    let mut connection = connected.map_err(Failed::connecting)?;
    if !is_capacity_set {
        let is_pooled = timeout(CHECK_TIMEOUT, DB::is_pooled(&mut connection, &options));
        // There may be no second connection for the check, now or at all.
        if let Ok(Ok(true)) = is_pooled.await {
            options = DB::without_prepared_statements(options);
        }
    }
    let is_set = DB::set_session(&mut connection).await;
    is_set.map_err(Failed::connecting)?;
    let refusal = loop {
        match DB::set_up(&mut connection).await {
            Err(blocked) if DB::obstacle(&blocked).is_some() => sleep(PAUSE).await,
            set_up => break set_up.map_err(Failed::connecting)?,
        }
    };
    if let Some(reason) = refusal {
        return Err(Failed::Url(reason));
    }
    loop {
        // A role that may not create tables can use a table that exists.
        match ensure::<DB>(&mut connection, DB::LOCKS).await {
            Err(TableError::Database(blocked)) if DB::obstacle(&blocked).is_some() => {
                sleep(PAUSE).await;
            }
            ensured => break ensured.map_err(Failed::creating)?,
        }
    }
    loop {
        match DB::read(&mut connection, false, "").await {
            Err(blocked) if DB::obstacle(&blocked).is_some() => sleep(PAUSE).await,
            Err(refused) => return Err(Failed::Database(error::of(refused, DB::LOCKS.name))),
            Ok(_) => break,
        }
    }
    // The server closes the connection if this fails.
    let _closed = connection.close().await;
    Ok(options)
}

fn refused_url(error: sqlx::Error) -> ConnectError {
    let source = match error {
        sqlx::Error::Configuration(reason) => reason,
        other => other.into(),
    };
    ConnectError::Url { source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_that_demands_tls_names_the_feature_if_sqlx_has_no_tls() {
        // The text of `error_if_unavailable` of sqlx 0.9. This build has TLS.
        let refused = "TLS upgrade required by connect options but SQLx was built without TLS support enabled";
        let failed = Failed::connecting(sqlx::Error::Tls(refused.into()));
        assert!(matches!(failed, Failed::NoTls));
        let failed = Failed::connecting(sqlx::Error::Tls("server does not support TLS".into()));
        assert!(matches!(failed, Failed::Database(_)));
    }
}
