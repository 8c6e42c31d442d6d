//! Checks names that are inserted into a statement.

use std::borrow::Cow;

use crate::Error;
use crate::rewrite::Dialect;

/// The longest name that all databases accept.
const LONGEST: usize = 63;

/// The aliases of the primary key in every table of `SQLite`.
const KEYS: [&str; 3] = ["rowid", "oid", "_rowid_"];

/// Checks the name of a column. The name must have the same meaning with and without quotes.
pub(crate) fn column(name: &str) -> Result<(), Error> {
    if KEYS.contains(&name) {
        return Err(Error::Name {
            what: "column",
            name: name.to_owned(),
            remedy: "on SQLite this is an alias of the primary key; use another name",
        });
    }
    if is_plain(name) && !name.contains(|it: char| it.is_ascii_uppercase()) {
        return Ok(());
    }
    Err(Error::Name {
        what: "column",
        name: shortened(name),
        remedy: "use lower-case letters, digits and `_`, not starting with a digit, at most 63 characters",
    })
}

/// Checks the name of a table, as in a statement: with or without its schema, each with or without quotes.
pub(crate) fn table(dialect: Dialect, name: &str) -> Result<(), Error> {
    if let Some([_] | [_, _]) = parts(dialect, name).as_deref() {
        return Ok(());
    }
    Err(Error::Name {
        what: "table",
        name: shortened(name),
        remedy: match dialect {
            Dialect::MySql => {
                "write it as in a statement: letters, digits and `_`, not starting with a digit, or in backticks; at \
                 most 63 bytes"
            }
            Dialect::Postgres | Dialect::Sqlite => {
                "write it as in a statement: letters, digits and `_`, not starting with a digit, or in double quotes; \
                 at most 63 bytes"
            }
        },
    })
}

/// Returns the names between the dots, without their quotes, and whether they had quotes. Returns `None` if one of the
/// names is invalid.
pub(crate) fn parts(dialect: Dialect, name: &str) -> Option<Vec<(Cow<'_, str>, bool)>> {
    let quote = match dialect {
        Dialect::MySql => '`',
        Dialect::Postgres | Dialect::Sqlite => '"',
    };
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let quoted = rest.strip_prefix(quote);
        let (name, behind) = match quoted {
            Some(quoted) => in_quotes(quoted, quote)?,
            None => {
                let (part, behind) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (
                    Cow::Borrowed(part),
                    Some(behind).filter(|_| is_plain(part))?,
                )
            }
        };
        parts.push((name, quoted.is_some()));
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// Returns the name after an opening quote, and the text after its closing quote. A doubled quote is part of the name.
fn in_quotes(quoted: &str, quote: char) -> Option<(Cow<'_, str>, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, behind) = rest.split_once(quote)?;
        name.push_str(part);
        match behind.strip_prefix(quote) {
            Some(next) => {
                name.push(quote);
                rest = next;
            }
            None => {
                let is_name = !name.is_empty() && name.len() <= LONGEST && !name.contains('\0');
                return is_name.then_some((Cow::Owned(name), behind));
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    let starts = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    starts && name.chars().all(is_part) && name.len() <= LONGEST
}

pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}
