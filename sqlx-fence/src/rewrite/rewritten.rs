use std::sync::Arc;

use leasehold::FencingToken;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::literal::Literals;

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
    /// The positions where the token is written as a number. `None` if it is bound.
    pub(super) literals: Option<Literals>,
}

impl Rewritten {
    /// The total size of the texts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.sql.as_str().len() + self.probe.as_ref().map_or(0, |it| it.as_str().len())
    }

    /// Returns whether the token is written into the text. Each token then makes another text, which a connection must
    /// not keep as a prepared statement.
    pub(crate) const fn has_literals(&self) -> bool {
        self.literals.is_some()
    }

    /// Returns the statement with the token in its text, if it is not bound.
    ///
    /// The text of a number cannot change the meaning of a statement. The server must prepare it again for each token.
    /// A variable, `SET @token = 7`, would keep the text, but costs the same second round trip. A server that loses the
    /// variable would also write NULL as a token.
    pub(crate) fn with_token(&self, token: FencingToken) -> Self {
        let mut with = self.clone();
        if let Some(literals) = &self.literals {
            with.sql = shared(literals.in_sql(self.sql.as_str(), token));
            let probe = self.probe.as_ref();
            with.probe = probe.map(|it| shared(literals.in_probe(it.as_str(), token)));
        }
        with
    }
}

/// The user has asserted that the statement is safe, and the added text does not contain user input.
pub(super) fn shared(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}
