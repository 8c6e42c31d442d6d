//! The question why nothing was written.

use std::fmt::Write as _;
use std::ops::Range;

use super::clauses::Clauses;
use super::dialect::Dialect;
use super::placeholders::Placeholders;
use super::tree::Added;

/// Under REPEATABLE READ a plain read would answer from before the newer holder's write. The grammar does not know it,
/// so it comes in when the question has been read again.
pub(super) const fn lock(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => " LOCK IN SHARE MODE",
        Dialect::Postgres | Dialect::Sqlite => "",
    }
}

/// The text of the question, and which values it takes.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) sql: String,
    pub(super) values: Option<Vec<usize>>,
}

pub(super) fn probe(
    dialect: Dialect,
    sql: &str,
    clauses: &Clauses,
    placeholders: &Placeholders,
    added: &Added,
) -> Probe {
    let mut copy = Copy {
        dialect,
        sql,
        placeholders,
        text: String::with_capacity(sql.len() + 128),
        taken: Vec::new(),
    };
    let column = format!("{}.{}", added.compared[0], added.compared[1]);
    // The column may be narrower than a token.
    let number = match dialect {
        Dialect::MySql => "SIGNED",
        Dialect::Postgres | Dialect::Sqlite => "BIGINT",
    };
    copy.take(0..clauses.start);
    copy.write(&format!(
        "SELECT count(*), CAST(max({column}) AS {number}) FROM "
    ));
    copy.take(clauses.tables.clone());
    if let Some(others) = &clauses.others {
        copy.write(", ");
        copy.take(others.clone());
    }
    copy.write(" WHERE ");
    if let Some(condition) = &clauses.condition {
        copy.write("(");
        copy.take(condition.clone());
        copy.write(") AND ");
    }
    copy.write(&format!("{column} > {}", added.placeholder));
    Probe {
        sql: copy.text,
        values: (dialect == Dialect::MySql).then_some(copy.taken),
    }
}

struct Copy<'a> {
    dialect: Dialect,
    sql: &'a str,
    placeholders: &'a Placeholders,
    text: String,
    taken: Vec<usize>,
}

impl Copy<'_> {
    fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Copies a part of the statement. Where `?` count by their places they get numbers, since some are missing now.
    fn take(&mut self, range: Range<usize>) {
        let numbered = self.dialect == Dialect::Sqlite && self.placeholders.counted;
        let mut done = range.start;
        for (index, (at, text)) in self.placeholders.found.iter().enumerate() {
            if !range.contains(at) {
                continue;
            }
            self.taken.push(index);
            if numbered {
                self.text.push_str(&self.sql[done..*at]);
                // Writing to a `String` cannot fail.
                let _ = write!(self.text, "${}", index + 1);
                done = at + text.len();
            }
        }
        self.text.push_str(&self.sql[done..range.end]);
    }
}
