//! The statements that create the required schema.

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use leasehold_sql::catalog::Table;

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
