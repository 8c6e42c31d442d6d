//! The table `leasehold_locks`.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use crate::catalog::Table;

/// The table for [`SqlBackend`](crate::SqlBackend) on Postgres. Half of each page stays free for new versions of its
/// rows, so that most changes do not touch the index.
pub const POSTGRES_LOCKS: &str = "CREATE TABLE IF NOT EXISTS leasehold_locks (\
    lock_key TEXT COLLATE \"C\" PRIMARY KEY, version BIGINT NOT NULL, owner BYTEA, token BIGINT NOT NULL, \
    expires_at BIGINT NOT NULL, kept_until BIGINT NOT NULL, closed_until BIGINT NOT NULL, state BYTEA, \
    label TEXT) \
    WITH (fillfactor = 50)";

/// The same table as [`POSTGRES_LOCKS`], on `MySQL` and `MariaDB`. The table stores the key as bytes, because the
/// collation of a text column treats `Abc` and `abc` as equal.
pub const MYSQL_LOCKS: &str = "CREATE TABLE IF NOT EXISTS leasehold_locks (\
    lock_key VARBINARY(1024) PRIMARY KEY, version BIGINT NOT NULL, owner BINARY(16), token BIGINT NOT NULL, \
    expires_at BIGINT NOT NULL, kept_until BIGINT NOT NULL, closed_until BIGINT NOT NULL, state LONGBLOB, \
    label VARBINARY(64)) \
    ENGINE=InnoDB ROW_FORMAT=DYNAMIC";

/// The same table as [`POSTGRES_LOCKS`], on `SQLite`.
pub const SQLITE_LOCKS: &str = "CREATE TABLE IF NOT EXISTS leasehold_locks (\
    lock_key TEXT COLLATE BINARY PRIMARY KEY NOT NULL, version BIGINT NOT NULL, owner BLOB, token BIGINT NOT NULL, \
    expires_at BIGINT NOT NULL, kept_until BIGINT NOT NULL, closed_until BIGINT NOT NULL, state BLOB, \
    label TEXT) WITHOUT ROWID";

/// Returns the table `leasehold_locks` with the statement that creates it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) const fn locks(create: &'static str) -> Table {
    Table {
        name: "leasehold_locks",
        columns: &[
            "lock_key",
            "version",
            "owner",
            "token",
            "expires_at",
            "kept_until",
            "closed_until",
            "state",
            "label",
        ],
        create,
    }
}
