//! Finds the clauses of a statement in its text.

use std::ops::Range;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::dialect::Dialect;
use super::parser_tokens::{Piece, span};
use super::rewrite_error::Refusal;

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Update,
    Delete,
}

/// The byte ranges of the clauses in the text. The rewrite inserts the fence at these positions, and then checks the
/// syntax tree.
#[derive(Debug, Clone)]
pub(super) struct Clauses {
    /// The start of the verb. The text before the verb is its `WITH` clause.
    pub(super) start: usize,
    /// The text between the verb and `SET`, or after `FROM`, without modifiers of the verb.
    pub(super) tables: Range<usize>,
    /// The assignments.
    pub(super) set: Option<Range<usize>>,
    /// The further tables after `FROM` or `USING`.
    pub(super) others: Option<Range<usize>>,
    /// The commas between these tables.
    pub(super) commas: Vec<usize>,
    /// The condition.
    pub(super) condition: Option<Range<usize>>,
    /// The expression after `LIMIT`.
    pub(super) limit: Option<Range<usize>>,
    /// The position where a condition would end.
    pub(super) tail: usize,
}

impl Clauses {
    /// Returns the first position for the token.
    pub(super) fn first(&self) -> usize {
        let clause = self.set.as_ref().or(self.condition.as_ref());
        clause.map_or(self.tail, |it| it.end)
    }
}

pub(super) fn find(dialect: Dialect, pieces: &[Piece], sql: &str) -> Result<Clauses, Refusal> {
    let code: Vec<Piece> = pieces.iter().filter(|it| it.is_code()).cloned().collect();
    let code = without_semicolons(&code)?;
    let top = Top::of(code);
    let (verb, at) = top.verb().ok_or_else(|| not_a_write(dialect, code))?;
    let from = |keyword: Keyword, after: usize| top.first(after, &[keyword]);
    refuse_modifiers(dialect, &code[at + 1..])?;
    let skipped = match code.get(at + 1) {
        Some(it) if it.keyword() == Keyword::OR && verb == Verb::Update => 2,
        _ => 0,
    };
    let incomplete = || {
        Refusal::new(
            sql.len(),
            "the statement is incomplete",
            "write it completely: `UPDATE … SET … WHERE …` or `DELETE FROM … WHERE …`",
        )
    };
    let (head, set, further) = match verb {
        Verb::Update => {
            let set = from(Keyword::SET, at).ok_or_else(incomplete)?;
            (at + 1 + skipped..set, Some(set), Some(Keyword::FROM))
        }
        Verb::Delete => {
            let start = from(Keyword::FROM, at).ok_or_else(incomplete)?;
            match (dialect, from(Keyword::USING, start)) {
                // All tables are after `USING`, unless that `USING` belongs to a JOIN.
                (Dialect::MySql, Some(using)) if start == at + 1 => {
                    (using + 1..code.len(), None, None)
                }
                (Dialect::MySql, _) => (start + 1..code.len(), None, None),
                _ => (start + 1..code.len(), None, Some(Keyword::USING)),
            }
        }
    };
    let body = set.unwrap_or(head.start);
    let condition = from(Keyword::WHERE, body);
    let further = further
        .and_then(|it| from(it, body))
        .filter(|it| condition.is_none_or(|end| *it < end));
    let tail = top
        .first(
            condition.or(further).unwrap_or(body),
            &[Keyword::RETURNING, Keyword::ORDER, Keyword::LIMIT],
        )
        .unwrap_or(code.len());
    let ends = [further, condition, Some(tail)];
    let until = |start: usize| {
        let ends = ends.iter().flatten().copied();
        ends.filter(|it| *it >= start).min().unwrap_or(code.len())
    };
    let text = |start: usize| span(code.get(start..until(start)).unwrap_or_default());
    let limit = from(Keyword::LIMIT, tail).and_then(|it| {
        let end = from(Keyword::RETURNING, it).unwrap_or(code.len());
        span(code.get(it + 1..end)?)
    });
    let tables = match verb {
        Verb::Update => span(code.get(head).unwrap_or_default()),
        Verb::Delete => text(head.start),
    };
    Ok(Clauses {
        start: code[at].start,
        tables: tables.ok_or_else(incomplete)?,
        set: match set {
            Some(set) => Some(text(set + 1).ok_or_else(incomplete)?),
            None => None,
        },
        others: further.and_then(|it| text(it + 1)),
        commas: further.map_or_else(Vec::new, |it| top.commas(it + 1..until(it + 1))),
        condition: match condition {
            Some(it) => Some(text(it + 1).ok_or_else(incomplete)?),
            None => None,
        },
        limit,
        tail: tail
            .checked_sub(1)
            .and_then(|last| code.get(last))
            .map_or(sql.len(), |it| it.end),
    })
}

pub(super) fn without_semicolons(code: &[Piece]) -> Result<&[Piece], Refusal> {
    let is_end = |it: &Piece| it.token == Token::SemiColon;
    let length = code
        .iter()
        .rposition(|it| !is_end(it))
        .map_or(0, |it| it + 1);
    let code = &code[..length];
    match code.iter().find(|it| is_end(it)) {
        None => Ok(code),
        Some(it) => Err(Refusal::new(
            it.start,
            "a second statement, which would not be fenced",
            "send one statement at a time",
        )),
    }
}

/// Returns the index of the verb of an `INSERT`, `UPDATE` or `DELETE`, also after its `WITH`.
pub(super) fn verb(code: &[Piece]) -> Option<usize> {
    let verbs = [Keyword::INSERT, Keyword::UPDATE, Keyword::DELETE];
    let at = Top::of(code).first(0, &verbs)?;
    (at == 0 || code[0].keyword() == Keyword::WITH).then_some(at)
}

fn not_a_write(dialect: Dialect, code: &[Piece]) -> Refusal {
    let first = code.first();
    let is = |keyword: Keyword| first.is_some_and(|it| it.keyword() == keyword);
    let (truncates, inserts) = (
        is(Keyword::TRUNCATE),
        is(Keyword::INSERT) || is(Keyword::REPLACE),
    );
    let reads = is(Keyword::SELECT);
    Refusal::new(
        first.map_or(0, |it| it.start),
        "only UPDATE and DELETE can be fenced",
        // A statement that commits implicitly would end the transaction and its claim.
        match dialect {
            _ if inserts => {
                "in `fence.begin(..)` run a fenced UPDATE, and if it writes no row, an INSERT that sets the token \
                 column"
            }
            _ if truncates => "write `DELETE FROM` instead",
            Dialect::MySql if reads => {
                "read in `fence.begin(..)`, or in a transaction after a fenced UPDATE of the rows, which locks them"
            }
            _ if reads => {
                "read in `fence.begin(..)`, or write `UPDATE … SET id = id WHERE … RETURNING …`, which locks the \
                 rows, stores the token and returns them"
            }
            Dialect::MySql => {
                "for other statements that do not commit implicitly use `fence.begin(..)`"
            }
            Dialect::Postgres | Dialect::Sqlite => "for other statements use `fence.begin(..)`",
        },
    )
}

/// Refuses modifiers, which the parser would treat as the name of a table.
fn refuse_modifiers(dialect: Dialect, behind: &[Piece]) -> Result<(), Refusal> {
    let Some(Piece {
        token: Token::Word(word),
        start,
        ..
    }) = behind.first()
    else {
        return Ok(());
    };
    let modifiers = ["low_priority", "quick", "ignore"];
    let is_one = modifiers
        .iter()
        .any(|it| word.value.eq_ignore_ascii_case(it));
    if dialect != Dialect::MySql || word.quote_style.is_some() || !is_one {
        return Ok(());
    }
    Err(Refusal::new(
        *start,
        format!("the modifier `{}`", word.value),
        "remove it; IGNORE would hide that rows were not written",
    ))
}

/// The pieces outside of parentheses.
#[derive(Debug)]
pub(super) struct Top<'a> {
    code: &'a [Piece],
    at_top: Vec<bool>,
}

impl<'a> Top<'a> {
    pub(super) fn of(code: &'a [Piece]) -> Self {
        let mut depth = 0_usize;
        let at_top = code.iter().map(|it| {
            let here = depth;
            match it.token {
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            here == 0
        });
        Self {
            at_top: at_top.collect(),
            code,
        }
    }

    fn verb(&self) -> Option<(Verb, usize)> {
        let at = self.first(0, &[Keyword::UPDATE, Keyword::DELETE])?;
        let is_first = at == 0 || self.code[0].keyword() == Keyword::WITH;
        let verb = match self.code[at].keyword() {
            Keyword::UPDATE => Verb::Update,
            _ => Verb::Delete,
        };
        is_first.then_some((verb, at))
    }

    /// Returns the opening brackets after `start`.
    pub(super) fn brackets(&self, start: usize) -> impl Iterator<Item = usize> {
        (start..self.code.len())
            .filter(|&at| self.at_top[at] && self.code[at].token == Token::LParen)
    }

    /// Returns the bracket that closes an opening bracket.
    pub(super) fn closing(&self, open: usize) -> usize {
        let after = (open + 1..self.code.len()).find(|&at| self.at_top[at]);
        after.unwrap_or(self.code.len()) - 1
    }

    fn commas(&self, range: Range<usize>) -> Vec<usize> {
        let commas = range.filter(|&at| self.at_top[at] && self.code[at].token == Token::Comma);
        commas.map(|at| self.code[at].start).collect()
    }

    /// Returns the first of these keywords at or after `start`. The `FROM` of `IS DISTINCT FROM` is not a clause.
    pub(super) fn first(&self, start: usize, keywords: &[Keyword]) -> Option<usize> {
        (start..self.code.len()).find(|&at| {
            let keyword = self.code[at].keyword();
            let compares = keyword == Keyword::FROM
                && at > 0
                && self.code[at - 1].keyword() == Keyword::DISTINCT;
            self.at_top[at] && keywords.contains(&keyword) && !compares
        })
    }
}
