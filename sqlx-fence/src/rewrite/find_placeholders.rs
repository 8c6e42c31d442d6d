//! Finds the placeholders of a statement.

use sqlparser::tokenizer::Token;

use super::dialect::Dialect;
use super::parser_tokens::Piece;
use super::rewrite_error::Refusal;

/// The style of placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `?`
    Bare,
    /// `?1`
    Question,
    /// `$1`
    Dollar,
}

/// The placeholders of a statement.
#[derive(Debug, Clone)]
pub(super) struct Placeholders {
    /// The positions and texts of the placeholders, in order.
    pub(super) found: Vec<(usize, String)>,
    /// The number of values to bind.
    pub(super) values: usize,
    /// The placeholder of the token.
    pub(super) token: String,
    /// Whether the placeholders are bare `?`, which are numbered by position.
    pub(super) counted: bool,
}

pub(super) fn find(dialect: Dialect, pieces: &[Piece]) -> Result<Placeholders, Refusal> {
    let mut found = Vec::new();
    let mut style: Option<Style> = None;
    let mut numbers: Vec<(usize, usize)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces.get(at + 1).map(|it| &it.token);
        let Token::Placeholder(text) = &piece.token else {
            refuse_named(dialect, piece)?;
            continue;
        };
        let (this, number) = read(dialect, text, piece.start)?;
        if style.is_some_and(|it| it != this) {
            return Err(Refusal::new(
                piece.start,
                "placeholders of two kinds",
                "use only `?`, or only numbered ones",
            ));
        }
        let goes_on = matches!(
            next,
            Some(
                Token::LParen
                    | Token::Colon
                    | Token::DoubleColon
                    | Token::Word(_)
                    | Token::Number(..)
            )
        );
        if goes_on && dialect == Dialect::Sqlite {
            return Err(Refusal::new(
                piece.start,
                "a placeholder that is directly followed by other characters",
                "write a space after it, and no parenthesis",
            ));
        }
        style = Some(this);
        numbers.extend(number.map(|it| (it, piece.start)));
        found.push((piece.start, text.clone()));
    }
    let values = match style {
        None => 0,
        Some(Style::Bare) => found.len(),
        Some(Style::Question | Style::Dollar) => without_gaps(numbers)?,
    };
    let token = match (dialect, style) {
        (Dialect::MySql, _) => "?".to_owned(),
        (Dialect::Sqlite, Some(Style::Question)) => format!("?{}", values + 1),
        // A `$n` can follow bare `?`, because sqlx binds it by its number and does not count it as a `?`.
        (Dialect::Postgres | Dialect::Sqlite, _) => format!("${}", values + 1),
    };
    Ok(Placeholders {
        found,
        values,
        token,
        counted: style == Some(Style::Bare),
    })
}

fn read(dialect: Dialect, text: &str, at: usize) -> Result<(Style, Option<usize>), Refusal> {
    let (style, digits) = match text.split_at_checked(1) {
        Some(("?", "")) => (Style::Bare, None),
        Some(("?", digits)) => (Style::Question, Some(digits)),
        Some(("$", digits)) => (Style::Dollar, Some(digits)),
        _ => return Err(unknown(dialect, text, at)),
    };
    let fits = match dialect {
        Dialect::Postgres => style == Style::Dollar,
        Dialect::MySql => style == Style::Bare,
        Dialect::Sqlite => true,
    };
    let number = digits.map(|it| {
        let plain = it.bytes().all(|it| it.is_ascii_digit()) && !it.starts_with('0');
        it.parse::<usize>().ok().filter(|_| plain)
    });
    match (fits, number) {
        (true, None) => Ok((style, None)),
        (true, Some(Some(number))) => Ok((style, Some(number))),
        _ => Err(unknown(dialect, text, at)),
    }
}

/// Refuses named placeholders: `SQLite` supports them, but sqlx does not.
fn refuse_named(dialect: Dialect, piece: &Piece) -> Result<(), Refusal> {
    let named = matches!(
        piece.token,
        Token::Colon | Token::DoubleColon | Token::AtSign | Token::Sharp
    );
    if named && dialect == Dialect::Sqlite {
        return Err(unknown(dialect, "a named placeholder", piece.start));
    }
    Ok(())
}

fn unknown(dialect: Dialect, text: &str, at: usize) -> Refusal {
    let remedy = match dialect {
        Dialect::Postgres => "use `$1`, `$2`, …",
        Dialect::MySql => "use `?`",
        Dialect::Sqlite => "use `?`, or `?1`, `?2`, …",
    };
    Refusal::new(
        at,
        format!("{text} is not a placeholder of {} in sqlx", dialect.name()),
        remedy,
    )
}

/// Returns the largest number, if all smaller numbers are used.
fn without_gaps(mut numbers: Vec<(usize, usize)>) -> Result<usize, Refusal> {
    numbers.sort_unstable();
    let mut largest = 0;
    for (number, at) in numbers {
        if number > largest + 1 {
            return Err(Refusal::new(
                at,
                format!(
                    "placeholder {number} is used, but placeholder {} is not",
                    largest + 1
                ),
                "number the placeholders from 1, without gaps",
            ));
        }
        largest = number;
    }
    Ok(largest)
}
