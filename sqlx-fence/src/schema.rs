//! The statements that create the required schema.

/// The type of the token column: `ALTER TABLE orders ADD COLUMN fencing_token BIGINT NOT NULL DEFAULT 0`. Never use a
/// text column: as text, `'9'` is larger than `'10'`.
pub const COLUMN_TYPE: &str = "BIGINT NOT NULL DEFAULT 0";

/// The table for [`Fence::begin`](crate::Fence::begin) and [`SqlFenceStore`](crate::SqlFenceStore) on Postgres.
pub const POSTGRES_FENCES: &str = "CREATE TABLE IF NOT EXISTS fences (\
    resource TEXT COLLATE \"C\" PRIMARY KEY, token BIGINT NOT NULL)";

/// The same table as [`POSTGRES_FENCES`], on `MySQL` and `MariaDB`. The table stores the resource as bytes, because the
/// collation of a text column treats `Abc` and `abc` as equal.
pub const MYSQL_FENCES: &str = "CREATE TABLE IF NOT EXISTS fences (\
    resource VARBINARY(512) PRIMARY KEY, token BIGINT NOT NULL) ENGINE=InnoDB";

/// The same table as [`POSTGRES_FENCES`], on `SQLite`.
pub const SQLITE_FENCES: &str = "CREATE TABLE IF NOT EXISTS fences (\
    resource TEXT COLLATE BINARY PRIMARY KEY NOT NULL, token BIGINT NOT NULL) WITHOUT ROWID";
