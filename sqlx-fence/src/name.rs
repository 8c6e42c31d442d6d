//! Names that go into a statement, and so must be harmless.

use crate::Error;

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
    check("column", name, name)
}

/// A table's name, with or without its schema.
pub(crate) fn table(name: &str) -> Result<(), Error> {
    let parts: Vec<&str> = name.split('.').collect();
    match parts.as_slice() {
        [_] | [_, _] => parts.iter().try_for_each(|it| check("table", name, it)),
        _ => Err(refused("table", name)),
    }
}

fn check(what: &'static str, name: &str, part: &str) -> Result<(), Error> {
    let starts = part.starts_with(|it: char| it.is_ascii_lowercase() || it == '_');
    let is_part = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    if starts && part.chars().all(is_part) && part.len() <= LONGEST {
        return Ok(());
    }
    Err(refused(what, name))
}

fn refused(what: &'static str, name: &str) -> Error {
    Error::Name {
        what,
        name: name.chars().take(64).collect(),
        remedy: "use lower-case letters, digits and `_`, not a digit first, at most 63 of them",
    }
}
