//! Writes the token as a number into the text of a statement whose values are already bound.
//!
//! The placeholders of `MySQL` have no numbers. So a token that is bound would have to stand between the given values,
//! and sqlx's arguments cannot be split.

use leasehold::FencingToken;

use super::asked::Asked;
use super::dialect::Dialect;
use super::refusal::Refusal;
use super::{pieces, placeholders};

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

impl Literals {
    /// Returns the text of the statement with the token.
    pub(super) fn in_sql(&self, sql: &str, token: FencingToken) -> String {
        replaced(sql, &self.sql, token)
    }

    /// Returns the text of the probe with the token.
    pub(super) fn in_probe(&self, probe: &str, token: FencingToken) -> String {
        replaced(probe, &self.probe, token)
    }
}

/// Replaces the `?` at these ascending positions.
fn replaced(sql: &str, places: &[usize], token: FencingToken) -> String {
    let (mut text, mut done) = (String::new(), 0);
    for &at in places {
        text.push_str(&sql[done..at]);
        text.push_str(&token.get().to_string());
        done = at + 1;
    }
    text.push_str(&sql[done..]);
    text
}
