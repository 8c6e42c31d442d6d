//! What the database needs, as statements.

/// The column's type: `ALTER TABLE orders ADD COLUMN fencing_token BIGINT NOT NULL DEFAULT 0`. Never a text: `'9'`
/// is more than `'10'`.
pub const COLUMN_TYPE: &str = "BIGINT NOT NULL DEFAULT 0";

/// The table for [`Fence::begin`](crate::Fence::begin) and [`SqlFenceStore`](crate::SqlFenceStore) on Postgres.
pub const POSTGRES_FENCES: &str = "CREATE TABLE IF NOT EXISTS fences (\
    resource TEXT COLLATE \"C\" PRIMARY KEY, token BIGINT NOT NULL)";

/// As [`POSTGRES_FENCES`], on `MySQL` and `MariaDB`. Bytes, since a text's collation takes `Abc` for `abc`.
pub const MYSQL_FENCES: &str = "CREATE TABLE IF NOT EXISTS fences (\
    resource VARBINARY(512) PRIMARY KEY, token BIGINT NOT NULL) ENGINE=InnoDB";

/// As [`POSTGRES_FENCES`], on `SQLite`.
pub const SQLITE_FENCES: &str = "CREATE TABLE IF NOT EXISTS fences (\
    resource TEXT COLLATE BINARY PRIMARY KEY NOT NULL, token BIGINT NOT NULL) WITHOUT ROWID";
