use std::sync::Arc;

use leasehold_core::FencingToken;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

/// A statement with its fence, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Rewritten {
    pub(crate) sql: SqlStr,
    /// Counts the rows that the statement did not write because of a newer token, and returns the largest token. An
    /// `INSERT` has no probe, because it writes new rows.
    pub(crate) probe: Option<SqlStr>,
    /// Like `probe`, but counts only the rows that this role may write. `None` unless policies can hide rows only from
    /// an `UPDATE`.
    pub(crate) confirmed: Option<SqlStr>,
    /// The written table, as in the statement.
    pub(crate) table: String,
    /// The names of the schema and of the written table, as the database compares them.
    pub(crate) path: Vec<String>,
    /// The number of values that the user binds.
    pub(crate) values: usize,
    /// The number of the user's values before each position of the token. This is empty if the token comes once, after
    /// all values.
    pub(crate) interleaved: Vec<usize>,
    /// The indices of the user's values that the probe uses. `None` if the probe uses all values.
    pub(crate) probed: Option<Vec<usize>>,
    /// Whether the statement has `RETURNING`.
    pub(crate) returns_rows: bool,
    /// Whether the texts read the token from the variable [`TOKEN`] of the session.
    pub(crate) uses_variable: bool,
}

/// The variable of a `MySQL` session with a token that cannot be bound. The parser treats this text as an expression.
///
/// The placeholders of `MySQL` have no numbers. So a token between the values of the user cannot be bound, because the
/// values that sqlx has encoded cannot be split. With the token in the text, the server would have to prepare a new
/// statement for each token.
pub(super) const TOKEN: &str = "@leasehold_token";

impl Rewritten {
    /// The total size of the texts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.sql.as_str().len() + self.probe.as_ref().map_or(0, |it| it.as_str().len())
    }

    /// Returns the statement that sets the variable of the session. A number gives the variable the type of a token.
    pub(crate) fn set_variable(token: FencingToken) -> SqlStr {
        shared(format!("SET {TOKEN} = {}", token.get()))
    }
}

/// Asserts that the text is safe: the user has asserted this for the statement, and the added text contains no user
/// input.
pub(super) fn shared(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}
