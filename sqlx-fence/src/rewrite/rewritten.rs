use std::sync::Arc;

use leasehold::FencingToken;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

/// A statement with its fence, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Rewritten {
    pub(crate) sql: SqlStr,
    /// Counts the rows that the statement did not write because of a newer token, and returns the largest token. `None`
    /// for an `INSERT`, which writes new rows.
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
    /// The number of the user's values before each position of the token. Empty if the token comes once, after all
    /// values.
    pub(crate) interleaved: Vec<usize>,
    /// The indices of the user's values that the probe uses. `None` if the probe uses all values.
    pub(crate) probed: Option<Vec<usize>>,
    /// Whether the statement has `RETURNING`.
    pub(crate) returns_rows: bool,
    /// Whether [`TOKEN`] stands in the texts for the token.
    pub(crate) is_inline: bool,
}

/// Stands for a token that is not bound, in a form that the parser treats as an expression.
pub(super) const TOKEN: &str = "@leasehold_token";

impl Rewritten {
    /// The total size of the texts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.sql.as_str().len() + self.probe.as_ref().map_or(0, |it| it.as_str().len())
    }

    /// Writes the token as a number into the texts of an inline statement, which the connection must then not keep.
    ///
    /// The placeholders of `MySQL` have no numbers. So a bound token would have to stand between the values, and the
    /// values that sqlx has encoded cannot be split. A number cannot change the meaning of the text, but the server must
    /// prepare the text again for each token. A variable of the session would keep the text, but setting it costs the
    /// same round trip. A connection that has lost the variable would also write NULL as the token.
    pub(crate) fn with_token(&self, token: FencingToken) -> Self {
        let with = |text: &SqlStr| shared(text.as_str().replace(TOKEN, &token.get().to_string()));
        Self {
            sql: with(&self.sql),
            probe: self.probe.as_ref().map(with),
            ..self.clone()
        }
    }
}

/// The user has asserted that the statement is safe, and the added text does not contain user input.
pub(super) fn shared(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}
