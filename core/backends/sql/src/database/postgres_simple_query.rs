//! Statements of Postgres, prepared or as simple queries.
//!
//! A simple query contains its values, so that the server neither prepares nor keeps it. A pooler in transaction mode
//! needs such statements, because it may execute a statement on another connection than the one that prepared it. In a
//! simple query, text and bytes are hexadecimal, so no value can end its literal, whatever the settings of the server
//! are.

use std::fmt::Write;

use sqlx::encode::Encode;
use sqlx::postgres::{PgArguments, PgQueryResult, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Type, raw_sql};

/// A statement with its values.
pub(super) enum Statement {
    Prepared(Query<'static, Postgres, PgArguments>),
    Simple {
        sql: &'static str,
        /// The literals that replace `$1`, `$2` and so on.
        values: Vec<String>,
    },
}

/// Returns a statement without values.
pub(super) fn query(sql: &'static str, prepare: bool) -> Statement {
    match prepare {
        true => Statement::Prepared(sqlx::query(sql)),
        false => Statement::Simple {
            sql,
            values: Vec::new(),
        },
    }
}

impl Statement {
    /// Adds the value of the next placeholder.
    pub(super) fn bind<'t>(self, value: impl Literal<'t>) -> Self {
        match self {
            Self::Prepared(query) => Self::Prepared(query.bind(value)),
            Self::Simple { sql, mut values } => {
                let mut literal = String::new();
                value.push_to(&mut literal);
                values.push(literal);
                Self::Simple { sql, values }
            }
        }
    }

    pub(super) async fn execute(self, on: &mut PgConnection) -> Result<PgQueryResult, sqlx::Error> {
        match self {
            Self::Prepared(query) => query.execute(on).await,
            Self::Simple { sql, values } => raw_sql(simple(sql, &values)).execute(on).await,
        }
    }

    pub(super) async fn fetch_one(self, on: &mut PgConnection) -> Result<PgRow, sqlx::Error> {
        let row = self.fetch_optional(on).await?;
        row.ok_or(sqlx::Error::RowNotFound)
    }

    pub(super) async fn fetch_optional(
        self,
        on: &mut PgConnection,
    ) -> Result<Option<PgRow>, sqlx::Error> {
        match self {
            Self::Prepared(query) => query.fetch_optional(on).await,
            Self::Simple { sql, values } => raw_sql(simple(sql, &values)).fetch_optional(on).await,
        }
    }

    pub(super) async fn fetch_all(self, on: &mut PgConnection) -> Result<Vec<PgRow>, sqlx::Error> {
        match self {
            Self::Prepared(query) => query.fetch_all(on).await,
            Self::Simple { sql, values } => raw_sql(simple(sql, &values)).fetch_all(on).await,
        }
    }
}

/// Returns a simple query. The literals contain no `$`, and `$10` is replaced before `$1`, with which it begins.
fn simple(sql: &str, values: &[String]) -> AssertSqlSafe<String> {
    let values = values.iter().enumerate().rev();
    AssertSqlSafe(values.fold(sql.to_owned(), |sql, (before, literal)| {
        sql.replace(&format!("${}", before + 1), literal)
    }))
}

/// A value of a statement.
pub(super) trait Literal<'t>: Encode<'t, Postgres> + Type<Postgres> {
    /// Appends the value as an expression.
    fn push_to(&self, sql: &mut String);
}

impl Literal<'_> for i64 {
    fn push_to(&self, sql: &mut String) {
        // A write to a string does not fail.
        let _ok = write!(sql, "({self})::BIGINT");
    }
}

impl<'t> Literal<'t> for &'t [u8] {
    fn push_to(&self, sql: &mut String) {
        sql.push_str("DECODE('");
        for byte in *self {
            let _ok = write!(sql, "{byte:02x}");
        }
        sql.push_str("', 'hex')");
    }
}

impl<'t> Literal<'t> for &'t str {
    fn push_to(&self, sql: &mut String) {
        sql.push_str("CONVERT_FROM(");
        self.as_bytes().push_to(sql);
        sql.push_str(", 'UTF8')");
    }
}

impl<'t> Literal<'t> for Option<&'t [u8]> {
    fn push_to(&self, sql: &mut String) {
        match self {
            Some(bytes) => bytes.push_to(sql),
            None => sql.push_str("NULL::BYTEA"),
        }
    }
}

impl<'t> Literal<'t> for Option<&'t str> {
    fn push_to(&self, sql: &mut String) {
        match self {
            Some(text) => text.push_to(sql),
            None => sql.push_str("NULL::TEXT"),
        }
    }
}

impl<'t, L: Literal<'t>> Literal<'t> for Vec<L>
where
    Self: Encode<'t, Postgres> + Type<Postgres>,
{
    fn push_to(&self, sql: &mut String) {
        sql.push_str("ARRAY[");
        for (index, value) in self.iter().enumerate() {
            if index > 0 {
                sql.push_str(", ");
            }
            value.push_to(sql);
        }
        sql.push(']');
    }
}
