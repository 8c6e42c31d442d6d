//! Finds strings, quoted names and comments by the rules of each server.
//!
//! A fence is only safe if the server splits the text into the same tokens as the parser. The tokenizer of the parser
//! uses the same rules for all dialects. This second, smaller tokenizer follows the rules of each server. [`agree`]
//! compares the results, and refuses a statement if they differ.

use sqlparser::tokenizer::{Token, Whitespace};

use super::dialect::Dialect;
use super::parser_tokens::Piece;
use super::quoted_text_length;
use super::rewrite_error::Refusal;

/// A part of the text that is not code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) comment: bool,
}

/// Finds the regions by the rules of this server.
pub(super) fn regions(dialect: Dialect, sql: &str) -> Result<Vec<Region>, Refusal> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &sql[at..];
        let (length, comment) = match byte {
            b'-' if starts_line_comment(dialect, rest) => (line_comment(dialect, sql, at)?, true),
            b'#' if dialect == Dialect::MySql => (line_comment(dialect, sql, at)?, true),
            b'/' if rest.starts_with("/*") => (block_comment(dialect, sql, at)?, true),
            b'\'' | b'"' | b'`' | b'[' | b'$' => {
                match quoted_text_length::length(dialect, sql, at)? {
                    Some(length) => (length, false),
                    None => {
                        at += 1;
                        continue;
                    }
                }
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => {
                at = word(dialect, sql, at, &mut found)?;
                continue;
            }
            _ => {
                plain(byte, at)?;
                at += 1;
                continue;
            }
        };
        found.push(Region {
            start: at,
            end: at + length,
            comment,
        });
        at += length;
    }
    Ok(found)
}

/// Reads a name, a keyword or a number. If it is the prefix of a string, also reads the string. Returns the end.
fn word(
    dialect: Dialect,
    sql: &str,
    start: usize,
    found: &mut Vec<Region>,
) -> Result<usize, Refusal> {
    let is_part = |letter: char| {
        letter.is_ascii_alphanumeric()
            || letter == '_'
            || (letter == '$' && dialect != Dialect::Sqlite)
            || !letter.is_ascii()
    };
    let rest = &sql[start..];
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    let (text, end) = (&rest[..length], start + length);
    let odd = |letter: char| letter == '\u{feff}' || letter.is_whitespace() || letter.is_control();
    if let Some(at) = text.find(odd) {
        return Err(invisible(start + at));
    }
    if dialect == Dialect::Postgres {
        let behind = &sql[end..];
        if text.eq_ignore_ascii_case("e") && behind.starts_with('\'') {
            let length =
                quoted_text_length::escaped(behind).ok_or_else(|| quoted_text_length::open(end))?;
            found.push(Region {
                start: end,
                end: end + length,
                comment: false,
            });
            return Ok(end + length);
        }
        if text.eq_ignore_ascii_case("u") && behind.starts_with("&\"") {
            return Err(Refusal::new(
                start,
                "a name in `U&\"…\"` can hide the name of a column",
                "write the name in plain quotes",
            ));
        }
    }
    Ok(end)
}

fn plain(byte: u8, at: usize) -> Result<(), Refusal> {
    match byte {
        b'\t' | b'\n' | b'\r' => Ok(()),
        0..0x20 | 0x7f => Err(invisible(at)),
        _ => Ok(()),
    }
}

fn invisible(at: usize) -> Refusal {
    Refusal::new(
        at,
        "an invisible character that databases read differently",
        "use plain spaces, tabs and line breaks between words",
    )
}

/// Returns whether a line comment starts here. `MySQL` requires a space after `--`, because `1--1` is a subtraction
/// there.
fn starts_line_comment(dialect: Dialect, rest: &str) -> bool {
    rest.strip_prefix("--").is_some_and(|behind| {
        dialect != Dialect::MySql || behind.bytes().next().is_none_or(|it| it <= b' ')
    })
}

fn line_comment(dialect: Dialect, sql: &str, at: usize) -> Result<usize, Refusal> {
    let rest = &sql[at..];
    let length = rest.find('\n').unwrap_or(rest.len());
    let text = &rest[..length];
    // Only Postgres ends a comment at a carriage return.
    let text = text.strip_suffix('\r').unwrap_or(text);
    if let Some(inside) = text.find('\r') {
        return Err(Refusal::new(
            at + inside,
            format!(
                "a line break in a comment that not every {} server recognizes",
                dialect.name()
            ),
            "end the comment with a line feed",
        ));
    }
    Ok(text.len())
}

fn block_comment(dialect: Dialect, sql: &str, at: usize) -> Result<usize, Refusal> {
    let rest = &sql[at..];
    let executable = ["/*!", "/*M!", "/*m!"]
        .iter()
        .any(|it| rest.starts_with(it));
    if executable && dialect == Dialect::MySql {
        return Err(Refusal::new(
            at,
            "an executable comment, which the server runs as code",
            "write it as code, or use a plain comment",
        ));
    }
    let Some(inner) = rest[2..].find("*/") else {
        return Err(Refusal::new(
            at,
            "a comment that is not closed",
            "close it with `*/`",
        ));
    };
    let text = &rest[2..2 + inner];
    if let Some(nested) = text.find("/*") {
        return Err(Refusal::new(
            at + 2 + nested,
            "a nested comment, which databases end in different places",
            "do not nest comments",
        ));
    }
    Ok(inner + 4)
}

/// Checks that both tokenizers found the same regions.
pub(super) fn agree(regions: &[Region], pieces: &[Piece], sql: &str) -> Result<(), Refusal> {
    let mut regions = regions.iter().copied().peekable();
    for piece in pieces {
        let kind = kind(piece, sql);
        let same = match (kind, regions.peek()) {
            (Kind::Code, Some(next)) => piece.end <= next.start,
            (Kind::Code, None) => true,
            (Kind::Comment, Some(next)) => {
                let between = sql.get(next.end..piece.end);
                let ends = between.is_some_and(|it| matches!(it, "" | "\n" | "\r\n" | "\r"));
                next.comment && piece.start == next.start && ends
            }
            (Kind::Quoted, Some(next)) => {
                let prefix = next.start.checked_sub(piece.start);
                !next.comment && prefix.is_some_and(|it| it <= 2) && piece.end == next.end
            }
            (Kind::Comment | Kind::Quoted, None) => false,
        };
        if !same {
            return Err(ambiguous(piece.start));
        }
        if kind != Kind::Code {
            regions.next();
        }
    }
    regions
        .next()
        .map_or(Ok(()), |left| Err(ambiguous(left.start)))
}

fn ambiguous(at: usize) -> Refusal {
    Refusal::new(
        at,
        "an ambiguous string, name or comment",
        "bind the value, or put spaces around it",
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

fn kind(piece: &Piece, sql: &str) -> Kind {
    match &piece.token {
        // In some dialects, `0x41` is a number.
        Token::HexStringLiteral(_) if !sql[..piece.end].ends_with('\'') => Kind::Code,
        Token::Whitespace(
            Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
        ) => Kind::Comment,
        Token::Word(word) if word.quote_style.is_some() => Kind::Quoted,
        Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::DollarQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::SingleQuotedByteStringLiteral(_)
        | Token::DoubleQuotedByteStringLiteral(_) => Kind::Quoted,
        _ => Kind::Code,
    }
}
