//! Databases that take no writes.

/// The error of a database that takes no writes, with its remedy.
pub const READ_ONLY: &str = "the database takes no writes, so nothing was written: connect to the primary if the \
     server is a replica, or was the primary before a switchover; otherwise look for a setting that makes it read-only, \
     such as `default_transaction_read_only` or `read_only`";

/// Returns whether the server takes no writes. `MariaDB` and `MySQL` have a code of their own for the server's setting,
/// and the code of other errors.
#[must_use]
pub fn is_read_only(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        error.code().as_deref() == Some("25006") || error.message().contains("read-only option")
    })
}
