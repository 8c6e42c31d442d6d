//! Adds the fence to a statement.
//!
//! # Implementation details
//!
//! 1. The tokens give the positions for the fence ([`clauses`]). The rest of the text stays unchanged, byte for byte.
//! 2. The fenced text is parsed again. The resulting tree must equal the original tree with the same change applied to
//!    it ([`tree`]). So a fence at a wrong position is refused.
//! 3. Both trees come from the same tokenizer. So a statement is refused if that tokenizer and a server might disagree
//!    ([`lexical`]).

mod cache;
mod chains;
mod clauses;
mod dialect;
mod forms;
mod insert;
mod lexical;
mod literal;
mod pieces;
mod placeholders;
mod plan;
mod probe;
mod quotes;
mod refusal;
mod splice;
mod stack;
mod target;
mod tree;

use std::sync::Arc;

use sqlparser::ast::Statement;
use sqlparser::tokenizer::TokenWithSpan;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

pub(crate) use self::cache::{Asked, planned, rewritten};
pub(crate) use self::dialect::Dialect;
use self::literal::Literals;
use self::pieces::Piece;
use self::placeholders::Placeholders;
pub(crate) use self::plan::Plan;
pub(crate) use self::refusal::Refusal;
use self::tree::Contents;

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
    literals: Option<Literals>,
}

impl Rewritten {
    /// The total size of the texts, in bytes.
    fn bytes(&self) -> usize {
        self.sql.as_str().len() + self.probe.as_ref().map_or(0, |it| it.as_str().len())
    }
}

/// Rewrites a statement without the cache.
pub(crate) fn rewrite(asked: Asked<'_>) -> Result<Rewritten, Refusal> {
    let (pieces, tokens) = read(asked.dialect, asked.sql)?;
    let height = chains::height(&pieces)?;
    stack::with_enough(height, |depth| fenced(asked, &pieces, tokens, depth))
}

/// Splits a text into pieces, and refuses it if a server might split it differently.
fn read(dialect: Dialect, sql: &str) -> Result<(Vec<Piece>, Vec<TokenWithSpan>), Refusal> {
    if let Some(at) = sql.find('\0') {
        return Err(Refusal::new(
            at,
            "a NUL character, which ends the statement in some databases",
            "bind the value",
        ));
    }
    let regions = lexical::regions(dialect, sql)?;
    let (pieces, tokens) = pieces::read(dialect, sql)?;
    lexical::agree(&regions, &pieces, sql)?;
    Ok((pieces, tokens))
}

/// Rewrites an `UPDATE` or `DELETE` from its pieces. The parser must not exceed `depth`.
fn fenced(
    asked: Asked<'_>,
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<Rewritten, Refusal> {
    let Asked {
        dialect,
        column,
        target,
        sql,
        is_bound,
    } = asked;
    let clauses = clauses::find(dialect, pieces, sql)?;
    let unreadable = |why: String| unreadable(clauses.start, &why);
    let (placeholders, mut statement) = parsed(asked, clauses.start, pieces, tokens, depth)?;
    let with = tree::with(&statement);
    let mut write = tree::write_of(&mut statement)
        .ok_or_else(|| unreadable("it is neither UPDATE nor DELETE".to_owned()))?;
    write.check(dialect, column, clauses.start)?;
    target::refuse_shadowed(&write, &with, clauses.start)?;
    let target = target::of(dialect, &write, target, clauses.start)?;
    let spliced = splice::splice(dialect, sql, &clauses, &placeholders.token, &target, column);
    let table = target::table(&write, &target);
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
    let interleaved = interleaved(dialect, &placeholders, &spliced.places);
    Ok(Rewritten {
        literals: Literals::of(asked, &interleaved, &spliced.sql, Some(&probe.sql))?,
        sql: shared(spliced.sql),
        probe: Some(shared(probe.sql + probe::lock(dialect))),
        confirmed: probe.confirmed.map(shared),
        path: target::path(dialect, &table),
        table: table.to_string(),
        values: placeholders.values,
        interleaved,
        probed: probe.values.filter(|_| !is_bound),
        returns_rows,
    })
}

/// Parses a statement that must contain exactly one write.
fn parsed(
    asked: Asked<'_>,
    start: usize,
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<(Placeholders, Statement), Refusal> {
    let placeholders = placeholders::find(asked.dialect, pieces)?;
    let statement = tree::parse(asked.dialect, tokens, depth).map_err(|error| Refusal {
        at: pieces::place_in(&error, asked.sql).unwrap_or(start),
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

fn unreadable(at: usize, why: &str) -> Refusal {
    Refusal::new(
        at,
        format!("the statement is not supported: {why}"),
        "simplify it, or use `fence.begin(..)`, and set and compare the token column there yourself",
    )
}

/// Returns the number of the user's values before each position of the token.
fn interleaved(dialect: Dialect, placeholders: &Placeholders, places: &[usize]) -> Vec<usize> {
    match dialect {
        Dialect::MySql => {
            let before = |at: &usize| placeholders.found.iter().filter(|it| it.0 < *at).count();
            places.iter().map(before).collect()
        }
        Dialect::Postgres | Dialect::Sqlite => Vec::new(),
    }
}

/// Checks that the fenced text has exactly the tree to which the same change was made.
fn check_again(
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

fn read_again(dialect: Dialect, sql: &str, depth: usize) -> Result<Statement, String> {
    let (_, tokens) = read(dialect, sql).map_err(|it| it.problem.into_owned())?;
    // The limit is higher here, because the fence adds a few brackets.
    tree::parse(dialect, tokens, depth + 10)
}

/// The user has asserted that the statement is safe, and the added text does not contain user input.
fn shared(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}
