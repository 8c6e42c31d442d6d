//! Adds the fence to an `UPDATE` or `DELETE`.

use sqlparser::tokenizer::TokenWithSpan;

use super::fenced_syntax_tree::{self, Contents};
use super::parse::{check_again, interleaved, parsed, read_again, unreadable};
use super::parser_tokens::Piece;
use super::rewrite_error::Refusal;
use super::rewrite_request::Asked;
use super::rewritten::{Rewritten, TOKEN, shared};
use super::{find_clauses, insert_into_text, probe, written_table};

/// Rewrites an `UPDATE` or `DELETE` from its pieces. `depth` is the recursion limit of the parser.
pub(super) fn fenced(
    asked: Asked<'_>,
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<Rewritten, Refusal> {
    let (dialect, sql) = (asked.dialect, asked.sql);
    let clauses = find_clauses::find(dialect, pieces, sql)?;
    let unreadable = |why: String| unreadable(clauses.start, &why);
    let (placeholders, mut statement) = parsed(
        asked,
        (clauses.start, clauses.first()),
        pieces,
        tokens,
        depth,
    )?;
    let with = fenced_syntax_tree::with(&statement);
    let mut write = fenced_syntax_tree::write_of(&mut statement)
        .ok_or_else(|| unreadable("it is neither UPDATE nor DELETE".to_owned()))?;
    write.check(dialect, asked.column, clauses.start)?;
    written_table::refuse_shadowed(&write, &with, clauses.start)?;
    let target = written_table::of(dialect, &write, asked.target, clauses.start)?;
    let spliced = insert_into_text::splice(
        dialect,
        sql,
        &clauses,
        &placeholders.token,
        &target,
        asked.column,
    );
    let table = written_table::table(&write, &target);
    let returns_rows = write.returns_rows();
    let joined = write.joins_others();
    let guarded = write.guarded(dialect);
    write.fence(&spliced.added);
    check_again(dialect, &spliced.sql, &statement, depth).map_err(unreadable)?;
    let probe = probe::probe(
        asked,
        &clauses,
        &placeholders,
        &spliced.added,
        joined,
        guarded.as_deref(),
    );
    for question in [Some(&probe.sql), probe.confirmed.as_ref()]
        .into_iter()
        .flatten()
    {
        let asks = read_again(dialect, question, depth).map_err(unreadable)?;
        if Contents::of(&asks).writes != 0 {
            return Err(unreadable("its rows cannot be queried".to_owned()));
        }
    }
    Ok(Rewritten {
        sql: shared(spliced.sql),
        probe: Some(shared(probe.sql + probe::lock(dialect))),
        confirmed: probe.confirmed.map(shared),
        path: written_table::path(dialect, &table),
        table: table.to_string(),
        values: placeholders.values,
        interleaved: interleaved(dialect, &placeholders, &spliced.places),
        probed: probe.values.filter(|_| !asked.is_bound),
        returns_rows,
        uses_variable: placeholders.token == TOKEN,
    })
}
