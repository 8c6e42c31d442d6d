//! Finds the length of a quoted text, by the rules of each server.

use super::dialect::Dialect;
use super::rewrite_error::Refusal;

/// Returns the length of the quoted text that starts at `at`, or `None` if the character is not a quote there.
pub(super) fn length(dialect: Dialect, sql: &str, at: usize) -> Result<Option<usize>, Refusal> {
    let rest = &sql[at..];
    let length = match (dialect, rest.as_bytes()[0]) {
        (Dialect::Postgres, b'$') => return dollar(rest, at),
        (Dialect::Postgres, b'`' | b'[') | (Dialect::MySql, b'[') | (_, b'$') => return Ok(None),
        (Dialect::Sqlite, b'[') => rest.find(']').map(|end| end + 1),
        (Dialect::MySql, b'\'' | b'"') | (Dialect::Postgres, b'\'') => {
            unambiguous(dialect, rest, at)?
        }
        _ => doubled(rest),
    };
    length.map(Some).ok_or_else(|| open(at))
}

pub(super) fn open(at: usize) -> Refusal {
    Refusal::new(at, "a quote that is not closed", "close it")
}

/// Refuses a text if its end depends on whether a backslash escapes, because that is a setting of the server.
fn unambiguous(dialect: Dialect, rest: &str, at: usize) -> Result<Option<usize>, Refusal> {
    let (one, other) = (doubled(rest), escaped(rest));
    if one == other {
        return Ok(one);
    }
    Err(Refusal::new(
        at,
        "a backslash before a quote: whether the quote ends the string depends on a setting of the server",
        match dialect {
            Dialect::Postgres => {
                "bind the value, or write `E'…'`, where a backslash always escapes"
            }
            Dialect::MySql | Dialect::Sqlite => "bind the value, or double the quote",
        },
    ))
}

/// Returns the length up to the first quote that is not doubled.
fn doubled(rest: &str) -> Option<usize> {
    end(rest, false)
}

/// Returns the length as [`doubled`] does, but a backslash escapes the next character.
pub(super) fn escaped(rest: &str) -> Option<usize> {
    end(rest, true)
}

fn end(rest: &str, backslash: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let quote = *bytes.first()?;
    let mut at = 1;
    loop {
        let byte = *bytes.get(at)?;
        if byte == b'\\' && backslash {
            at += 2;
        } else if byte != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
}

/// Returns the length of `$tag$…$tag$`, or `None` for a placeholder such as `$1`.
fn dollar(rest: &str, at: usize) -> Result<Option<usize>, Refusal> {
    let Some(tag) = rest[1..].find('$').map(|end| &rest[..end + 2]) else {
        return Ok(None);
    };
    let name = &tag[1..tag.len() - 1];
    let is_part =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii();
    if name.starts_with(|it: char| it.is_ascii_digit()) || !name.chars().all(is_part) {
        return Ok(None);
    }
    let end = rest[tag.len()..].find(tag).ok_or_else(|| open(at))?;
    Ok(Some(end + 2 * tag.len()))
}
