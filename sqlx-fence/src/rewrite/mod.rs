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
mod lexical;
mod pieces;
mod placeholders;
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

pub(crate) use self::cache::rewritten;
pub(crate) use self::dialect::Dialect;
use self::pieces::Piece;
pub(crate) use self::refusal::Refusal;
use self::tree::Contents;

/// A statement with its fence, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Rewritten {
    pub(crate) sql: SqlStr,
    /// Counts the rows that the statement did not write because of a newer token, and returns the largest token.
    pub(crate) probe: SqlStr,
    /// Like `probe`, but counts only the rows that this role may write. `None` unless policies can hide rows only from
    /// an `UPDATE`.
    pub(crate) confirmed: Option<SqlStr>,
    /// The written table, as in the statement.
    pub(crate) table: String,
    /// The number of values that the user binds.
    pub(crate) values: usize,
    /// The number of the user's values before each position of the token. Empty if the token comes once, after all
    /// values.
    pub(crate) interleaved: Vec<usize>,
    /// The indices of the user's values that the probe uses. `None` if the probe uses all values.
    pub(crate) probed: Option<Vec<usize>>,
    /// Whether the statement has `RETURNING`.
    pub(crate) returns_rows: bool,
}

/// Rewrites a statement without the cache.
pub(crate) fn rewrite(
    dialect: Dialect,
    column: &str,
    target: Option<&str>,
    sql: &str,
) -> Result<Rewritten, Refusal> {
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
    let height = chains::height(&pieces)?;
    stack::with_enough(height, |depth| {
        fenced(dialect, column, target, sql, &pieces, tokens, depth)
    })
}

/// Rewrites a statement from its pieces. The parser must not exceed `depth`.
fn fenced(
    dialect: Dialect,
    column: &str,
    target: Option<&str>,
    sql: &str,
    pieces: &[Piece],
    tokens: Vec<TokenWithSpan>,
    depth: usize,
) -> Result<Rewritten, Refusal> {
    let clauses = clauses::find(dialect, pieces, sql)?;
    let placeholders = placeholders::find(dialect, pieces)?;
    let unreadable = |why: String| {
        Refusal::new(
            clauses.start,
            format!("the statement is not supported: {why}"),
            "simplify it, or use `fence.begin(..)`, and set and compare the token column there yourself",
        )
    };
    let mut statement = tree::parse(dialect, tokens, depth).map_err(|error| Refusal {
        at: pieces::place_in(&error, sql).unwrap_or(clauses.start),
        ..unreadable(error)
    })?;
    let contents = Contents::of(&statement);
    if contents.writes != 1 {
        return Err(Refusal::new(
            clauses.start,
            "a part of the statement writes and would not be fenced",
            "write each change as a separate statement, in one transaction",
        ));
    }
    let mut texts: Vec<String> = placeholders.found.iter().map(|it| it.1.clone()).collect();
    texts.sort_unstable();
    if texts != contents.placeholders {
        return Err(unreadable("its placeholders are unclear".to_owned()));
    }
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
    let again = read_again(dialect, &spliced.sql, depth).map_err(unreadable)?;
    if again != statement {
        return Err(unreadable(
            "the fence would change more than it should".to_owned(),
        ));
    }
    let probe = probe::probe(
        dialect,
        sql,
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
    let interleaved = match dialect {
        Dialect::MySql => {
            let before = |at: &usize| placeholders.found.iter().filter(|it| it.0 < *at).count();
            spliced.places.iter().map(before).collect()
        }
        Dialect::Postgres | Dialect::Sqlite => Vec::new(),
    };
    Ok(Rewritten {
        sql: shared(spliced.sql),
        probe: shared(probe.sql + probe::lock(dialect)),
        confirmed: probe.confirmed.map(shared),
        table,
        values: placeholders.values,
        interleaved,
        probed: probe.values,
        returns_rows,
    })
}

fn read_again(dialect: Dialect, sql: &str, depth: usize) -> Result<Statement, String> {
    let refused = |it: Refusal| it.problem.into_owned();
    let regions = lexical::regions(dialect, sql).map_err(refused)?;
    let (pieces, tokens) = pieces::read(dialect, sql).map_err(refused)?;
    lexical::agree(&regions, &pieces, sql).map_err(refused)?;
    // The limit is higher here, because the fence adds a few brackets.
    tree::parse(dialect, tokens, depth + 10)
}

/// The user has asserted that the statement is safe, and the added text does not contain user input.
fn shared(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}
