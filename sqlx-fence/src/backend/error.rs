//! The errors of the lock table.

use leasehold::Key;
use leasehold::backend::key_state::DecodeError;
use leasehold::backend::{Applied, BackendError};
use sqlx::error::DatabaseError;

const NO_TABLE: &str = "the table `leasehold_locks` does not exist: call `leasehold_sqlx::ddl::create_locks` at startup, \
     or add it to your migrations";

/// The beginning of the message with which `PgBouncer` refuses a connection.
const UNSUPPORTED: &str = "unsupported startup parameter";
const STARTUP_PARAMETER: &str = "the pooler refuses a startup parameter of the connection: add `extra_float_digits`, and the \
     parameter in the source of this error, to `ignore_startup_parameters` of PgBouncer";
const NO_PERMISSION: &str = "the role may not use the table `leasehold_locks`: \
     GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_locks to the role";

/// The classes of codes for lost connections, and for interventions and failures of the server.
const LOST: [&str; 3] = ["08", "57", "58"];

/// Returns the error of a statement.
pub(super) fn of(error: sqlx::Error, key: &Key) -> BackendError {
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
            // On MySQL, the second code also has other meanings.
            "42501" => BackendError::not_applied(NO_PERMISSION).permanent(),
            "42000" if database.message().contains("denied") => {
                BackendError::not_applied(NO_PERMISSION).permanent()
            }
            // SQLite failed to read or write its files, possibly after the commit.
            code if of_sqlite(code) == Some(10) => BackendError::unknown(message),
            // SQLite opened the file only for reading.
            code if of_sqlite(code) == Some(8) => BackendError::not_applied(message).permanent(),
            // A server that shuts down may have committed the statement before.
            code if LOST.iter().any(|class| code.starts_with(class)) => {
                BackendError::unknown(message)
            }
            _ => BackendError::not_applied(message),
        }
    };
    failed.with_source(error)
}

/// Returns the primary code of an error of `SQLite`. The codes of the other databases have five characters.
fn of_sqlite(code: &str) -> Option<u32> {
    let code: Option<u32> = code.parse().ok().filter(|_| code.len() < 5);
    code.map(|it| it & 0xff)
}

/// Returns whether the table of a statement does not exist.
pub(crate) fn is_missing_table(error: &dyn DatabaseError) -> bool {
    // The codes of Postgres and of MySQL. SQLite has no code for a missing table.
    matches!(error.code().as_deref(), Some("42P01" | "42S02"))
        || error.message().starts_with("no such table")
}

/// Returns the same error for another caller of the statement.
pub(super) fn copy(error: &BackendError) -> BackendError {
    let copy = match error.applied() {
        Applied::No => BackendError::not_applied(error.to_string()),
        _ => BackendError::unknown(error.to_string()),
    };
    if error.is_temporary() {
        copy
    } else {
        copy.permanent()
    }
}

/// Returns the error of a pool that returned no connection, so that no statement was sent.
pub(super) fn of_pool(error: sqlx::Error) -> BackendError {
    let database = error.as_database_error();
    let refused = database.is_some_and(|it| it.message().starts_with(UNSUPPORTED));
    let message = if refused {
        STARTUP_PARAMETER
    } else {
        "the pool returned no connection to the database"
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
