//! Writes the token as a number into the text of a statement whose values are already bound.
//!
//! The placeholders of `MySQL` have no numbers. So a token that is bound would have to stand between the given values,
//! and sqlx's arguments cannot be split.

use leasehold::FencingToken;
use sqlx::SqlStr;

use super::{Asked, Dialect, Refusal, Rewritten, pieces, placeholders, shared};

/// The byte positions of the token's `?` in the texts.
#[derive(Debug, Clone)]
pub(super) struct Literals {
    sql: Vec<usize>,
    probe: Vec<usize>,
}

impl Literals {
    /// Finds the positions, if the token must be written as a number.
    pub(super) fn of(
        asked: Asked<'_>,
        interleaved: &[usize],
        sql: &str,
        probe: Option<&str>,
    ) -> Result<Option<Self>, Refusal> {
        if !asked.is_bound || asked.dialect != Dialect::MySql {
            return Ok(None);
        }
        let found = positions(sql)?;
        let tokens = interleaved.iter().enumerate();
        let sql = tokens.filter_map(|(before, own)| found.get(before + own).copied());
        // In the probe, the comparison with the token is the last condition.
        let probe = match probe {
            Some(probe) => positions(probe)?.pop(),
            None => None,
        };
        Ok(Some(Self {
            sql: sql.collect(),
            probe: probe.into_iter().collect(),
        }))
    }
}

/// Returns the positions of all placeholders.
fn positions(sql: &str) -> Result<Vec<usize>, Refusal> {
    let (pieces, _) = pieces::read(Dialect::MySql, sql)?;
    let found = placeholders::find(Dialect::MySql, &pieces)?.found;
    Ok(found.into_iter().map(|it| it.0).collect())
}

impl Rewritten {
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
            with.sql = replaced(&self.sql, &literals.sql, token);
            with.probe = self
                .probe
                .as_ref()
                .map(|it| replaced(it, &literals.probe, token));
        }
        with
    }
}

/// Replaces the `?` at these ascending positions.
fn replaced(sql: &SqlStr, places: &[usize], token: FencingToken) -> SqlStr {
    let (mut text, mut done) = (String::new(), 0);
    for &at in places {
        text.push_str(&sql.as_str()[done..at]);
        text.push_str(&token.get().to_string());
        done = at + 1;
    }
    text.push_str(&sql.as_str()[done..]);
    shared(text)
}
