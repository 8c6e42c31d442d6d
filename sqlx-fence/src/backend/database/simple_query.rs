//! Statements of Postgres that contain their values, so that the server neither prepares nor keeps them.
//!
//! Text and bytes are hexadecimal, so no value can end its literal, whatever the settings of the server are.

use std::fmt::Write;

use sqlx::postgres::{PgQueryResult, PgRow};
use sqlx::{AssertSqlSafe, PgConnection, raw_sql};

/// A statement, in which the values replace `$1`, `$2` and so on.
pub(super) struct SimpleQuery {
    sql: String,
    bound: usize,
}

/// Returns a statement without values. The statement must have less than ten values.
pub(super) fn query(sql: &str) -> SimpleQuery {
    let sql = sql.to_owned();
    SimpleQuery { sql, bound: 0 }
}

impl SimpleQuery {
    /// Replaces the next placeholder. Values contain no `$`.
    pub(super) fn bind(mut self, value: impl Literal) -> Self {
        self.bound += 1;
        let mut literal = String::new();
        value.push_to(&mut literal);
        self.sql = self.sql.replace(&format!("${}", self.bound), &literal);
        self
    }

    pub(super) async fn execute(self, on: &mut PgConnection) -> Result<PgQueryResult, sqlx::Error> {
        raw_sql(AssertSqlSafe(self.sql)).execute(on).await
    }

    pub(super) async fn fetch_one(self, on: &mut PgConnection) -> Result<PgRow, sqlx::Error> {
        raw_sql(AssertSqlSafe(self.sql)).fetch_one(on).await
    }

    pub(super) async fn fetch_optional(
        self,
        on: &mut PgConnection,
    ) -> Result<Option<PgRow>, sqlx::Error> {
        raw_sql(AssertSqlSafe(self.sql)).fetch_optional(on).await
    }

    pub(super) async fn fetch_all(self, on: &mut PgConnection) -> Result<Vec<PgRow>, sqlx::Error> {
        raw_sql(AssertSqlSafe(self.sql)).fetch_all(on).await
    }
}

/// A value of a statement.
pub(super) trait Literal {
    /// Appends the value as an expression.
    fn push_to(self, sql: &mut String);
}

impl Literal for i64 {
    fn push_to(self, sql: &mut String) {
        // A write to a string does not fail.
        let _ok = write!(sql, "({self})::BIGINT");
    }
}

impl Literal for &[u8] {
    fn push_to(self, sql: &mut String) {
        sql.push_str("DECODE('");
        for byte in self {
            let _ok = write!(sql, "{byte:02x}");
        }
        sql.push_str("', 'hex')");
    }
}

impl Literal for &str {
    fn push_to(self, sql: &mut String) {
        sql.push_str("CONVERT_FROM(");
        self.as_bytes().push_to(sql);
        sql.push_str(", 'UTF8')");
    }
}

impl Literal for Option<&[u8]> {
    fn push_to(self, sql: &mut String) {
        match self {
            Some(bytes) => bytes.push_to(sql),
            None => sql.push_str("NULL::BYTEA"),
        }
    }
}

impl<L: Literal> Literal for Vec<L> {
    fn push_to(self, sql: &mut String) {
        sql.push_str("ARRAY[");
        for (index, value) in self.into_iter().enumerate() {
            if index > 0 {
                sql.push_str(", ");
            }
            value.push_to(sql);
        }
        sql.push(']');
    }
}
