//! Decides how a statement is sent.
//!
//! The parser does not support all reads of a server. So this module recognizes a read by its tokens. The server must
//! split the text into the same tokens.

use std::sync::Arc;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::dialect::Dialect;
use super::parse::read;
use super::parser_tokens::Piece;
use super::rewrite_error::Refusal;
use super::rewrite_request::Asked;
use super::rewritten::{Rewritten, TOKEN};
use super::{find_clauses, insert, parser_stack, tree_height, update};

/// The way in which a statement is sent.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// The statement is sent unchanged.
    Read,
    /// The statement is sent unchanged, and locks the rows that it reads.
    LockingRead,
    /// The statement is sent with a fence.
    Write(Arc<Rewritten>),
}

/// Returns how to send a statement. If its values are not bound, the statement must be an `UPDATE` or `DELETE`.
pub(super) fn plan(asked: Asked<'_>) -> Result<Plan, Refusal> {
    let (pieces, tokens) = read(asked.dialect, asked.sql)?;
    let code: Vec<Piece> = pieces.iter().filter(|it| it.is_code()).cloned().collect();
    let mut insert = None;
    if asked.only_appends() && names_variable(asked.sql) {
        let problem = "the variable `@leasehold_token`, which belongs to the fence";
        return Err(Refusal::new(0, problem, "use another variable"));
    }
    if asked.is_bound {
        let code = find_clauses::without_semicolons(&code)?;
        if let Some(read) = reading(asked.dialect, code)? {
            return Ok(read);
        }
        let verb = find_clauses::verb(code).ok_or_else(|| hidden_write(code))?;
        insert = Some((code, verb)).filter(|_| code[verb].keyword() == Keyword::INSERT);
    }
    let height = tree_height::height(&pieces)?;
    let rewritten = parser_stack::with_enough(height, |depth| match insert {
        Some((code, verb)) => insert::fenced(asked, code, verb, &pieces, tokens, depth),
        None => update::fenced(asked, &pieces, tokens, depth),
    })?;
    Ok(Plan::Write(Arc::new(rewritten)))
}

/// Returns whether a statement may set the variable of the token. Case and quotes do not matter in its name.
fn names_variable(sql: &str) -> bool {
    let unquoted = sql.replace(['`', '\'', '"'], "");
    unquoted.to_ascii_lowercase().contains(TOKEN)
}

/// Returns the kind of a read, or `None` if the statement must be rewritten.
fn reading(dialect: Dialect, code: &[Piece]) -> Result<Option<Plan>, Refusal> {
    let first = code.iter().find(|it| it.token != Token::LParen);
    // SQLite runs a PRAGMA when it is prepared.
    let runs = || {
        code.iter()
            .any(|it| is_word(it, &["analyze", "analyse", "pragma"]))
    };
    let remedy = match first.map_or(Keyword::NoKeyword, Piece::keyword) {
        Keyword::SELECT | Keyword::VALUES | Keyword::TABLE => return query(code, false),
        Keyword::WITH => return query(code, true),
        Keyword::SHOW if dialect != Dialect::Sqlite => return Ok(Some(Plan::Read)),
        Keyword::EXPLAIN | Keyword::DESCRIBE | Keyword::DESC if !runs() => {
            return Ok(Some(Plan::Read));
        }
        Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE => return Ok(None),
        Keyword::EXPLAIN | Keyword::DESCRIBE | Keyword::DESC => {
            "remove ANALYZE, which runs the statement"
        }
        Keyword::REPLACE | Keyword::MERGE => insert::UPSERT,
        Keyword::TRUNCATE => "write `DELETE FROM` instead",
        Keyword::BEGIN
        | Keyword::START
        | Keyword::COMMIT
        | Keyword::ROLLBACK
        | Keyword::SAVEPOINT => "use `pool.begin()`, and `commit` or `rollback` of the transaction",
        _ => {
            "for DDL, settings and other statements that need no fence use the plain pool, `pool.inner()`"
        }
    };
    let problem = "only reads, INSERT, UPDATE and DELETE can be sent through a fenced pool";
    Err(Refusal::new(
        first.map_or(0, |it| it.start),
        problem,
        remedy,
    ))
}

/// Returns the kind of a query, or `None` if a part of it writes after `WITH`.
fn query(code: &[Piece], has_with: bool) -> Result<Option<Plan>, Refusal> {
    // Without `WITH`, the words can also be the names of columns. So a write can only be in brackets.
    let in_brackets = |at: usize| {
        let opens = at > 0 && code[at - 1].token == Token::LParen;
        opens && matches!(code.get(at + 1).map(|it| &it.token), Some(Token::Word(_)))
    };
    if (0..code.len()).any(|at| begins_write(code, at) && (has_with || in_brackets(at))) {
        return if has_with {
            Ok(None)
        } else {
            Err(hidden_write(code))
        };
    }
    if let Some(into) = code.iter().find(|it| it.keyword() == Keyword::INTO) {
        return Err(Refusal::new(
            into.start,
            "INTO writes the result of the query",
            "run it with the plain pool, `pool.inner()`, if it needs no fence",
        ));
    }
    let locks = code.windows(2).any(|it| {
        (is_word(&it[0], &["for"]) && is_word(&it[1], &["update", "share", "no", "key"]))
            || (is_word(&it[0], &["lock"]) && is_word(&it[1], &["in"]))
    });
    Ok(Some(if locks { Plan::LockingRead } else { Plan::Read }))
}

/// Treats each word that can begin a write as a write, except for the functions `replace(…)` and `insert(…)` and for
/// `FOR UPDATE`.
fn begins_write(code: &[Piece], at: usize) -> bool {
    let follows = |words| at > 0 && is_word(&code[at - 1], words);
    match code[at].keyword() {
        Keyword::UPDATE => !follows(&["for", "key"]),
        Keyword::DELETE | Keyword::MERGE => true,
        Keyword::INSERT | Keyword::REPLACE => {
            code.get(at + 1).is_none_or(|it| it.token != Token::LParen)
        }
        _ => false,
    }
}

fn hidden_write(code: &[Piece]) -> Refusal {
    Refusal::new(
        code.first().map_or(0, |it| it.start),
        "a part of the statement writes and would not be fenced",
        "write each change as a separate statement, in one transaction",
    )
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
