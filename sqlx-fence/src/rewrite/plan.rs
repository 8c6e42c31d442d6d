//! Decides how a fenced pool executes a statement.
//!
//! The parser does not know all reads of a server. So a read is recognized by its tokens, which the server must read in
//! the same way.

use std::sync::Arc;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::asked::Asked;
use super::dialect::Dialect;
use super::parsed::read;
use super::pieces::Piece;
use super::refusal::Refusal;
use super::rewritten::Rewritten;
use super::{chains, clauses, insert, stack, update};

/// How a fenced pool executes a statement.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// The statement is sent unchanged.
    Read,
    /// The statement locks the rows that it reads.
    LockingRead,
    /// The statement is sent with a fence.
    Write(Arc<Rewritten>),
}

const INNER: &str = "run it with the plain pool, `pool.inner()`, if it needs no fence";

pub(super) fn plan(asked: Asked<'_>) -> Result<Plan, Refusal> {
    let (pieces, tokens) = read(asked.dialect, asked.sql)?;
    let code: Vec<Piece> = pieces.iter().filter(|it| it.is_code()).cloned().collect();
    let code = clauses::without_semicolons(&code)?;
    if let Some(read) = reading(asked.dialect, code)? {
        return Ok(read);
    }
    let at = clauses::verb(code).ok_or_else(|| hidden_write(&code[0]))?;
    let height = chains::height(&pieces)?;
    let rewritten = stack::with_enough(height, |depth| match code[at].keyword() {
        Keyword::INSERT => insert::fenced(asked, code, at, &pieces, tokens, depth),
        _ => update::fenced(asked, &pieces, tokens, depth),
    })?;
    Ok(Plan::Write(Arc::new(rewritten)))
}

/// Returns the kind of a read, or `None` if the statement must be rewritten.
fn reading(dialect: Dialect, code: &[Piece]) -> Result<Option<Plan>, Refusal> {
    let first = code.iter().find(|it| it.token != Token::LParen);
    let start = first.map_or(0, |it| it.start);
    let refused = |problem: &'static str, remedy| Err(Refusal::new(start, problem, remedy));
    match first.map_or(Keyword::NoKeyword, Piece::keyword) {
        Keyword::SELECT | Keyword::VALUES | Keyword::TABLE => match writes(code, is_nested_write) {
            true => Err(hidden_write(&code[0])),
            false => query(code).map(Some),
        },
        Keyword::WITH => match writes(code, is_write) {
            true => Ok(None),
            false => query(code).map(Some),
        },
        Keyword::SHOW if dialect != Dialect::Sqlite => Ok(Some(Plan::Read)),
        Keyword::EXPLAIN | Keyword::DESCRIBE | Keyword::DESC => {
            // SQLite runs a PRAGMA when it is prepared.
            let runs = ["analyze", "analyse", "pragma"];
            match code.iter().any(|it| is_word(it, &runs)) {
                true => refused("EXPLAIN that may run the statement", "remove ANALYZE"),
                false => Ok(Some(Plan::Read)),
            }
        }
        Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE => Ok(None),
        Keyword::REPLACE | Keyword::MERGE => refused(
            "it writes rows whose tokens are not compared",
            insert::UPSERT,
        ),
        Keyword::TRUNCATE => refused("TRUNCATE cannot be fenced", "write `DELETE FROM` instead"),
        Keyword::BEGIN
        | Keyword::START
        | Keyword::COMMIT
        | Keyword::END
        | Keyword::ROLLBACK
        | Keyword::SAVEPOINT
        | Keyword::RELEASE => refused(
            "a statement that controls a transaction",
            "use `pool.begin()`, and `commit` or `rollback` of the transaction",
        ),
        _ => refused(
            "only reads, INSERT, UPDATE and DELETE can be sent through a fenced pool",
            "for DDL, settings and other statements that need no fence use the plain pool, `pool.inner()`",
        ),
    }
}

fn hidden_write(first: &Piece) -> Refusal {
    Refusal::new(
        first.start,
        "a part of the statement writes and would not be fenced",
        "write each change as a separate statement, in one transaction",
    )
}

/// Returns whether a query locks rows. Refuses a query that writes its result.
fn query(code: &[Piece]) -> Result<Plan, Refusal> {
    if let Some(into) = code.iter().find(|it| it.keyword() == Keyword::INTO) {
        return Err(Refusal::new(
            into.start,
            "INTO writes the result of the query",
            INNER,
        ));
    }
    let locks = code.windows(2).any(|it| {
        (is_word(&it[0], &["for"]) && is_word(&it[1], &["update", "share", "no", "key"]))
            || (is_word(&it[0], &["lock"]) && is_word(&it[1], &["in"]))
    });
    Ok(if locks { Plan::LockingRead } else { Plan::Read })
}

/// Returns whether a piece begins a write, judged by the pieces before and after it.
fn writes(code: &[Piece], begins: fn(Option<&Piece>, &Piece, Option<&Piece>) -> bool) -> bool {
    let before = |at: usize| at.checked_sub(1).and_then(|it| code.get(it));
    code.iter()
        .enumerate()
        .any(|(at, it)| begins(before(at), it, code.get(at + 1)))
}

/// Treats each word that can begin a write as a write, except for the functions `replace(…)` and `insert(…)` and for
/// `FOR UPDATE`.
fn is_write(before: Option<&Piece>, piece: &Piece, next: Option<&Piece>) -> bool {
    match piece.keyword() {
        Keyword::UPDATE => !before.is_some_and(|it| is_word(it, &["for", "key"])),
        Keyword::DELETE | Keyword::MERGE => true,
        Keyword::INSERT | Keyword::REPLACE => next.is_none_or(|it| it.token != Token::LParen),
        _ => false,
    }
}

/// Without `WITH`, these words can also be the names of columns. A write can only be in brackets.
fn is_nested_write(before: Option<&Piece>, piece: &Piece, next: Option<&Piece>) -> bool {
    let opens = before.is_some_and(|it| it.token == Token::LParen);
    let goes_on = next.is_some_and(|it| matches!(it.token, Token::Word(_)));
    opens && goes_on && is_write(before, piece, next)
}

/// Returns whether a piece is one of these words, without quotes and in any case.
fn is_word(piece: &Piece, words: &[&str]) -> bool {
    match &piece.token {
        Token::Word(word) if word.quote_style.is_none() => {
            words.iter().any(|it| word.value.eq_ignore_ascii_case(it))
        }
        _ => false,
    }
}
