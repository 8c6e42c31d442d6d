//! Parses statements, and checks the fenced ones.

use sqlparser::ast::Statement;
use sqlparser::tokenizer::TokenWithSpan;

use super::dialect::Dialect;
use super::fenced_syntax_tree::{self, Contents};
use super::find_placeholders::{self, Placeholders};
use super::parser_tokens::{self, Piece};
use super::rewrite_error::Refusal;
use super::rewrite_request::Asked;
use super::rewritten::TOKEN;
use super::string_and_comment_spans;

/// Splits a text into pieces, and refuses it if a server might split it differently.
pub(super) fn read(
    dialect: Dialect,
    sql: &str,
) -> Result<(Vec<Piece>, Vec<TokenWithSpan>), Refusal> {
    if let Some(at) = sql.find('\0') {
        return Err(Refusal::new(
            at,
            "a NUL character, which ends the statement in some databases",
            "bind the value",
        ));
    }
    let regions = string_and_comment_spans::regions(dialect, sql)?;
    let (pieces, tokens) = parser_tokens::read(dialect, sql)?;
    string_and_comment_spans::agree(&regions, &pieces, sql)?;
    Ok((pieces, tokens))
}

/// Parses a statement that must contain exactly one write. `first` is the first position for the token.
pub(super) fn parsed(
    asked: Asked<'_>,
    (start, first): (usize, usize),
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<(Placeholders, Statement), Refusal> {
    let mut placeholders = find_placeholders::find(asked.dialect, pieces)?;
    let follows = placeholders.found.last().is_some_and(|it| it.0 >= first);
    if follows && asked.only_appends() {
        placeholders.token = TOKEN.to_owned();
    }
    let statement =
        fenced_syntax_tree::parse(asked.dialect, tokens, depth).map_err(|error| Refusal {
            at: parser_tokens::place_in(&error, asked.sql).unwrap_or(start),
            ..unreadable(start, &error)
        })?;
    let contents = Contents::of(&statement);
    if contents.writes != 1 {
        return Err(Refusal::new(
            start,
            "a part of the statement writes and would not be fenced",
            "write each change as a separate statement, in one transaction",
        ));
    }
    let mut texts: Vec<String> = placeholders.found.iter().map(|it| it.1.clone()).collect();
    texts.sort_unstable();
    if texts != contents.placeholders {
        return Err(unreadable(start, "its placeholders are unclear"));
    }
    Ok((placeholders, statement))
}

pub(super) fn unreadable(at: usize, why: &str) -> Refusal {
    Refusal::new(
        at,
        format!("the statement is not supported: {why}"),
        "simplify it, or use `fence.begin(..)`, and set and compare the token column there yourself",
    )
}

/// Returns the number of the user's values before each position of the token.
pub(super) fn interleaved(
    dialect: Dialect,
    placeholders: &Placeholders,
    places: &[usize],
) -> Vec<usize> {
    match dialect {
        Dialect::MySql => {
            let before = |at: &usize| placeholders.found.iter().filter(|it| it.0 < *at).count();
            places.iter().map(before).collect()
        }
        Dialect::Postgres | Dialect::Sqlite => Vec::new(),
    }
}

/// Checks that the tree of the fenced text equals the original tree with the same change.
pub(super) fn check_again(
    dialect: Dialect,
    sql: &str,
    statement: &Statement,
    depth: usize,
) -> Result<(), String> {
    match read_again(dialect, sql, depth)? == *statement {
        true => Ok(()),
        false => Err("the fence would change more than it should".to_owned()),
    }
}

pub(super) fn read_again(dialect: Dialect, sql: &str, depth: usize) -> Result<Statement, String> {
    let (_, tokens) = read(dialect, sql).map_err(|it| it.problem.into_owned())?;
    // The limit is higher here, because the fence adds a few brackets.
    fenced_syntax_tree::parse(dialect, tokens, depth + 10)
}
