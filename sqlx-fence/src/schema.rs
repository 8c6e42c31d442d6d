//! The statements that create the required schema.

/// A table, with the columns that this version uses.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The columns.
    pub columns: &'static [&'static str],
    /// The statements that create it if it does not exist.
    pub create: &'static str,
}

/// The type of the token column: `ALTER TABLE orders ADD COLUMN fencing_token BIGINT NOT NULL DEFAULT 0`. Never use a
/// text column: as text, `'9'` is larger than `'10'`.
pub const COLUMN_TYPE: &str = "BIGINT NOT NULL DEFAULT 0";

/// The table for [`Fence::begin`](crate::Fence::begin) and [`SqlFenceStore`](crate::SqlFenceStore) on Postgres.
pub const POSTGRES_FENCES: &str = "CREATE TABLE IF NOT EXISTS leasehold_fences (\
    resource TEXT COLLATE \"C\" PRIMARY KEY, token BIGINT NOT NULL)";

/// The same table as [`POSTGRES_FENCES`], on `MySQL` and `MariaDB`. The table stores the resource as bytes, because the
/// collation of a text column treats `Abc` and `abc` as equal. The row format allows long keys. A setting of the server
/// may have another default.
pub const MYSQL_FENCES: &str = "CREATE TABLE IF NOT EXISTS leasehold_fences (\
    resource VARBINARY(512) PRIMARY KEY, token BIGINT NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC";

/// The same table as [`POSTGRES_FENCES`], on `SQLite`.
pub const SQLITE_FENCES: &str = "CREATE TABLE IF NOT EXISTS leasehold_fences (\
    resource TEXT COLLATE BINARY PRIMARY KEY NOT NULL, token BIGINT NOT NULL) WITHOUT ROWID";

/// The table for [`SqlIdempotencyStore`](crate::SqlIdempotencyStore) on Postgres. `expires_at` is in seconds since 1970,
/// by the clock of the database.
pub const POSTGRES_IDEMPOTENCY_RECORDS: &str = "CREATE TABLE IF NOT EXISTS leasehold_idempotency_records (\
    idempotency_key TEXT COLLATE \"C\" PRIMARY KEY, token BIGINT NOT NULL, \
    response BYTEA NOT NULL, expires_at BIGINT NOT NULL); \
    CREATE INDEX IF NOT EXISTS leasehold_idempotency_records_expires_at ON leasehold_idempotency_records (expires_at)";

/// The same table as [`POSTGRES_IDEMPOTENCY_RECORDS`], on `MySQL` and `MariaDB`.
pub const MYSQL_IDEMPOTENCY_RECORDS: &str = "CREATE TABLE IF NOT EXISTS leasehold_idempotency_records (\
    idempotency_key VARBINARY(512) PRIMARY KEY, token BIGINT NOT NULL, \
    response MEDIUMBLOB NOT NULL, expires_at BIGINT NOT NULL, \
    INDEX leasehold_idempotency_records_expires_at (expires_at)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC";

/// The same table as [`POSTGRES_IDEMPOTENCY_RECORDS`], on `SQLite`.
pub const SQLITE_IDEMPOTENCY_RECORDS: &str = "CREATE TABLE IF NOT EXISTS leasehold_idempotency_records (\
    idempotency_key TEXT COLLATE BINARY PRIMARY KEY NOT NULL, token BIGINT NOT NULL, \
    response BLOB NOT NULL, expires_at BIGINT NOT NULL); \
    CREATE INDEX IF NOT EXISTS leasehold_idempotency_records_expires_at ON leasehold_idempotency_records (expires_at)";

/// The table for [`SqlBackend`](crate::SqlBackend) on Postgres. Half of each page stays free for new versions of its
/// rows, so that most changes do not touch the index.
#[cfg(feature = "backend")]
pub const POSTGRES_LOCKS: &str = "CREATE TABLE IF NOT EXISTS leasehold_locks (\
    lock_key TEXT COLLATE \"C\" PRIMARY KEY, version BIGINT NOT NULL, owner BYTEA, token BIGINT NOT NULL, \
    expires_at BIGINT NOT NULL, kept_until BIGINT NOT NULL, closed_until BIGINT NOT NULL, state BYTEA, \
    label TEXT) \
    WITH (fillfactor = 50)";

/// The same table as [`POSTGRES_LOCKS`], on `MySQL` and `MariaDB`. The table stores the key as bytes, because the
/// collation of a text column treats `Abc` and `abc` as equal.
#[cfg(feature = "backend")]
pub const MYSQL_LOCKS: &str = "CREATE TABLE IF NOT EXISTS leasehold_locks (\
    lock_key VARBINARY(1024) PRIMARY KEY, version BIGINT NOT NULL, owner BINARY(16), token BIGINT NOT NULL, \
    expires_at BIGINT NOT NULL, kept_until BIGINT NOT NULL, closed_until BIGINT NOT NULL, state LONGBLOB, \
    label VARBINARY(64)) \
    ENGINE=InnoDB ROW_FORMAT=DYNAMIC";

/// The same table as [`POSTGRES_LOCKS`], on `SQLite`.
#[cfg(feature = "backend")]
pub const SQLITE_LOCKS: &str = "CREATE TABLE IF NOT EXISTS leasehold_locks (\
    lock_key TEXT COLLATE BINARY PRIMARY KEY NOT NULL, version BIGINT NOT NULL, owner BLOB, token BIGINT NOT NULL, \
    expires_at BIGINT NOT NULL, kept_until BIGINT NOT NULL, closed_until BIGINT NOT NULL, state BLOB, \
    label TEXT) WITHOUT ROWID";

/// Returns the table `leasehold_fences` with the statement that creates it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) const fn fences(create: &'static str) -> Table {
    Table {
        name: "leasehold_fences",
        columns: &["resource", "token"],
        create,
    }
}

/// Returns the table `leasehold_idempotency_records` with the statements that create it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) const fn idempotency_records(create: &'static str) -> Table {
    Table {
        name: "leasehold_idempotency_records",
        columns: &["idempotency_key", "token", "response", "expires_at"],
        create,
    }
}

/// Returns the table `leasehold_locks` with the statement that creates it.
#[cfg(all(
    feature = "backend",
    any(feature = "mysql", feature = "postgres", feature = "sqlite")
))]
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
