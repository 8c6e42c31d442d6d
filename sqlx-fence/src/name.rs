//! Names that go into a statement, and so must be harmless.

use std::borrow::Cow;

use crate::Error;
use crate::rewrite::Dialect;

/// The longest name that all databases take.
const LONGEST: usize = 63;

/// On `SQLite` each of these is the primary key, in every table.
const KEYS: [&str; 3] = ["rowid", "oid", "_rowid_"];

/// A column's name: plain, so that it is the same with and without quotes.
pub(crate) fn column(name: &str) -> Result<(), Error> {
    if KEYS.contains(&name) {
        return Err(Error::Name {
            what: "column",
            name: name.to_owned(),
            remedy: "on SQLite that is another name of the primary key; use one that is a column's alone",
        });
    }
    if is_plain(name) && !name.contains(|it: char| it.is_ascii_uppercase()) {
        return Ok(());
    }
    Err(Error::Name {
        what: "column",
        name: shortened(name),
        remedy: "use lower-case letters, digits and `_`, not a digit first, at most 63 of them",
    })
}

/// A table's name as a statement has it: with or without its schema, each in quotes or not.
pub(crate) fn table(dialect: Dialect, name: &str) -> Result<(), Error> {
    if let Some([_] | [_, _]) = parts(dialect, name).as_deref() {
        return Ok(());
    }
    Err(Error::Name {
        what: "table",
        name: shortened(name),
        remedy: match dialect {
            Dialect::MySql => {
                "write it as in a statement: letters, digits and `_`, not a digit first, or in backticks; at most 63 \
                 bytes"
            }
            Dialect::Postgres | Dialect::Sqlite => {
                "write it as in a statement: letters, digits and `_`, not a digit first, or in double quotes; at most \
                 63 bytes"
            }
        },
    })
}

/// The names between the dots, without their quotes; none if one of them is not a name.
pub(crate) fn parts(dialect: Dialect, name: &str) -> Option<Vec<Cow<'_, str>>> {
    let quote = match dialect {
        Dialect::MySql => '`',
        Dialect::Postgres | Dialect::Sqlite => '"',
    };
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let (part, behind) = match rest.strip_prefix(quote) {
            Some(quoted) => in_quotes(quoted, quote)?,
            None => {
                let (part, behind) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
                (
                    Cow::Borrowed(part),
                    Some(behind).filter(|_| is_plain(part))?,
                )
            }
        };
        parts.push(part);
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// The name behind an opening quote, and what follows its closing one. A doubled quote is part of the name.
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

fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}
