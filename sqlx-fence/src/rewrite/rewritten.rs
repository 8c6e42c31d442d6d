use std::sync::Arc;

use leasehold::FencingToken;
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
    /// Whether the texts contain [`TOKEN`] in place of the token.
    pub(crate) is_inline: bool,
}

/// Replaces a token that is not bound. The parser treats this text as an expression.
pub(super) const TOKEN: &str = "@leasehold_token";

impl Rewritten {
    /// The total size of the texts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.sql.as_str().len() + self.probe.as_ref().map_or(0, |it| it.as_str().len())
    }

    /// Writes the token as a number into the texts of an inline statement. The connection must not keep the prepared
    /// statement.
    ///
    /// The placeholders of `MySQL` have no numbers. So a bound token would have to be between the values, but the
    /// values that sqlx has encoded cannot be split. A number cannot change the meaning of the text, but the server
    /// must prepare the text again for each token. With a variable of the session the text would stay the same, but
    /// setting the variable costs the same round trip. If a connection lost the variable, a statement would write NULL
    /// as the token.
    pub(crate) fn with_token(&self, token: FencingToken) -> Self {
        let with = |text: &SqlStr| shared(text.as_str().replace(TOKEN, &token.get().to_string()));
        Self {
            sql: with(&self.sql),
            probe: self.probe.as_ref().map(with),
            ..self.clone()
        }
    }
}

/// Asserts that the text is safe: the user has asserted this for the statement, and the added text contains no user
/// input.
pub(super) fn shared(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}
