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

    /// Returns the name of a table in the form in which the database compares it. On `MySQL`, a setting of the server
    /// determines whether case matters. So this function treats names that may be equal as equal.
    pub(crate) fn folded(self, name: &str, is_quoted: bool) -> String {
        match (self, is_quoted) {
            (Self::Postgres, true) => name.to_owned(),
            (Self::Postgres, false) => name.to_ascii_lowercase(),
            (Self::MySql | Self::Sqlite, _) => name.to_lowercase(),
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
