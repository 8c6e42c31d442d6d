use sqlparser::dialect::{Dialect as Grammar, MySqlDialect, PostgreSqlDialect, SQLiteDialect};

/// The SQL dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `PostgreSQL`.
    Postgres,
    /// `MySQL` and `MariaDB`.
    MySql,
    /// `SQLite`.
    Sqlite,
}

impl Dialect {
    pub(super) const fn grammar(self) -> &'static dyn Grammar {
        match self {
            Self::Postgres => &PostgreSqlDialect {},
            Self::MySql => &MySqlDialect {},
            Self::Sqlite => &SQLiteDialect {},
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "Postgres",
            Self::MySql => "MySQL",
            Self::Sqlite => "SQLite",
        }
    }
}
