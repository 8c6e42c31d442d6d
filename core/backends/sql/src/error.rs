//! The errors of the lock table.

use std::fmt;

use leasehold_core::Key;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::key_state::DecodeError;
use sqlx::error::DatabaseError;

use crate::{READ_ONLY, is_read_only};

const NO_TABLE: &str = "the table `leasehold_locks` does not exist: call `leasehold::backend::sql::ddl::create_locks` at startup, \
     or add it to your migrations";

/// The beginning of the message with which `PgBouncer` refuses a connection.
const UNSUPPORTED: &str = "unsupported startup parameter";
pub(super) const STARTUP_PARAMETER: &str = "the pooler refuses a startup parameter of the connection: add `extra_float_digits`, and the \
     parameter in the source of this error, to `ignore_startup_parameters` of PgBouncer";
const POOLER: &str = "a pooler in transaction mode executes a statement on another connection than the one that prepared it: \
     add `?statement-cache-capacity=0` to the URL, or set `max_prepared_statements` of PgBouncer 1.21 and later";
const NO_PERMISSION: &str = "the role may not use the table `leasehold_locks`: \
     GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_locks to the role";

/// The classes of codes for lost connections, and for interventions and failures of the server.
const LOST: [&str; 3] = ["08", "57", "58"];

/// Returns the error of a statement.
pub(super) fn of(error: sqlx::Error, key: impl fmt::Display) -> BackendError {
    if let sqlx::Error::Configuration(reason) = error {
        return BackendError::not_applied(reason.to_string()).permanent();
    }
    let Some(database) = error.as_database_error() else {
        let message = format!("the database did not reply to a statement about `{key}`");
        return BackendError::unknown(message).with_source(error);
    };
    let code = database.code().unwrap_or_default();
    let failed = if is_missing_table(database) {
        BackendError::not_applied(NO_TABLE).permanent()
    } else {
        let message = format!("the database refused a statement about `{key}`");
        match &*code {
            _ if is_denied(&error) => BackendError::not_applied(NO_PERMISSION).permanent(),
            // SQLite failed to read or write its files, possibly after the commit.
            code if of_sqlite(code) == Some(10) => BackendError::unknown(message),
            // SQLite opened the file only for reading.
            code if of_sqlite(code) == Some(8) => BackendError::not_applied(message).permanent(),
            // A prepared statement exists already, or does not exist.
            "42P05" | "26000" => BackendError::not_applied(POOLER).permanent(),
            _ if is_read_only(&error) => BackendError::not_applied(READ_ONLY),
            // The server does not know whether it has committed the statement.
            "40003" => BackendError::unknown(message),
            // A server that shuts down may have committed the statement before.
            code if LOST.iter().any(|class| code.starts_with(class)) => {
                BackendError::unknown(message)
            }
            _ => BackendError::not_applied(message),
        }
    };
    failed.with_source(error)
}

/// Returns whether the role may not execute the statement.
pub(super) fn is_denied(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        match error.code().as_deref() {
            Some("42501") => true,
            // On MySQL, this code also has other meanings.
            Some("42000") => error.message().contains("denied"),
            _ => false,
        }
    })
}

/// Returns whether the database does not have a function or a statement, or does not let the role use it.
pub(super) fn is_unavailable(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    matches!(code.as_deref(), Some("42501" | "42883" | "0A000"))
}

/// Returns whether `sql_safe_updates` of a pool of the program refuses the statement. `connect` switches the setting off.
pub(super) fn is_safe_update(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    database.is_some_and(|it| it.message().contains("safe update mode"))
}

/// Returns the primary code of an error of `SQLite`. The codes of the other databases have five characters.
fn of_sqlite(code: &str) -> Option<u32> {
    let code: Option<u32> = code.parse().ok().filter(|_| code.len() < 5);
    code.map(|it| it & 0xff)
}

/// Returns whether the table of a statement does not exist.
#[must_use]
pub fn is_missing_table(error: &dyn DatabaseError) -> bool {
    // The codes of Postgres and of MySQL. SQLite has no code for a missing table.
    matches!(error.code().as_deref(), Some("42P01" | "42S02"))
        || error.message().starts_with("no such table")
}

/// Returns whether a refused connect may succeed later: the server cannot be reached, starts, ends or has too many
/// connections, or another process locks the file.
pub(super) fn is_temporary_refusal(error: &sqlx::Error) -> bool {
    let Some(refused) = error.as_database_error() else {
        return matches!(error, sqlx::Error::Io(_)) && !is_untrusted(error);
    };
    let code = refused.code().unwrap_or_default();
    match &*code {
        // The code of most refusals of `PgBouncer`.
        "08P01" => refused.message().contains("no more connections"),
        // On MySQL, this code also has other meanings.
        "42000" => refused.message().contains("max_user_connections"),
        code if of_sqlite(code).is_some_and(|it| it == 5 || it == 6) => true,
        code => ["08", "53", "57"]
            .iter()
            .any(|class| code.starts_with(class)),
    }
}

/// Returns whether a connection demands TLS, which sqlx does not have without a feature.
pub(super) fn needs_tls(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Tls(it) if it.to_string().starts_with("TLS upgrade required"))
}

/// Returns whether the client refuses the certificate of the server. rustls reports this as an error of the connection.
pub(super) fn is_untrusted(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(it) if it.to_string().contains("peer certificate"))
}

/// Returns whether `PgBouncer` refuses a parameter of the connection.
pub(super) fn is_startup_parameter(error: &dyn DatabaseError) -> bool {
    error.message().starts_with(UNSUPPORTED)
}

/// Returns the error of a pool that returned no connection, so that no statement was sent.
pub(super) fn of_pool(error: sqlx::Error) -> BackendError {
    let database = error.as_database_error();
    let refused = database.is_some_and(is_startup_parameter);
    let message = match &error {
        _ if refused => STARTUP_PARAMETER,
        sqlx::Error::Database(_) => "the database refused a new connection",
        sqlx::Error::Io(_) => "the server of the database cannot be reached",
        _ => "the pool returned no connection to the database",
    };
    let closed = matches!(error, sqlx::Error::PoolClosed);
    let failed = BackendError::not_applied(message).with_source(error);
    if closed || refused {
        failed.permanent()
    } else {
        failed
    }
}

/// Returns the error of a row that this version cannot read.
pub(super) fn damaged(error: DecodeError, key: &Key) -> BackendError {
    let message = format!("cannot read the row of `{key}` in `leasehold_locks`: {error}");
    BackendError::not_applied(message)
        .permanent()
        .with_source(error)
}
