//! The tokens of the parser, with their byte positions.

use std::ops::Range;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::dialect::Dialect;
use super::rewrite_error::Refusal;

/// A token with its position in the text.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Piece {
    /// Returns whether the token is not a comment or whitespace.
    pub(super) const fn is_code(&self) -> bool {
        !matches!(self.token, Token::Whitespace(_) | Token::EOF)
    }

    /// Returns the unquoted keyword, if the token is one.
    pub(super) fn keyword(&self) -> Keyword {
        match &self.token {
            Token::Word(word) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        }
    }
}

/// Returns the byte range from the first to the last piece.
pub(super) fn span(pieces: &[Piece]) -> Option<Range<usize>> {
    Some(pieces.first()?.start..pieces.last()?.end)
}

/// Splits a text into pieces. Also returns the tokens for the parser.
pub(super) fn read(
    dialect: Dialect,
    sql: &str,
) -> Result<(Vec<Piece>, Vec<TokenWithSpan>), Refusal> {
    let tokens = Tokenizer::new(dialect.grammar(), sql).tokenize_with_location();
    let mut places = Places::of(sql);
    let tokens = tokens.map_err(|error| {
        Refusal::new(
            places.offset(error.location),
            format!(
                "the statement cannot be parsed as {}: {}",
                dialect.name(),
                error.message
            ),
            "check the quotes and the characters here",
        )
    })?;
    let mut pieces: Vec<Piece> = Vec::with_capacity(tokens.len());
    for token in &tokens {
        let start = places.offset(token.span.start);
        if let Some(last) = pieces.last_mut() {
            last.end = start;
        }
        pieces.push(Piece {
            token: token.token.clone(),
            start,
            end: sql.len(),
        });
    }
    Ok((pieces, tokens))
}

/// Returns the position in an error of the parser: `… at Line: 1, Column: 22`.
pub(super) fn place_in(complaint: &str, sql: &str) -> Option<usize> {
    let (_, place) = complaint.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    let place = Location::new(line.parse().ok()?, column.parse().ok()?);
    Some(Places::of(sql).offset(place))
}

/// Converts lines and columns to byte offsets. Ascending positions are converted in one pass.
#[derive(Debug)]
pub(super) struct Places<'a> {
    sql: &'a str,
    offset: usize,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    pub(super) const fn of(sql: &'a str) -> Self {
        Self {
            sql,
            offset: 0,
            line: 1,
            column: 1,
        }
    }

    pub(super) fn offset(&mut self, place: Location) -> usize {
        if (place.line, place.column) < (self.line, self.column) {
            *self = Self::of(self.sql);
        }
        for letter in self.sql[self.offset..].chars() {
            if (self.line, self.column) >= (place.line, place.column) {
                break;
            }
            self.offset += letter.len_utf8();
            if letter == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.offset
    }
}
