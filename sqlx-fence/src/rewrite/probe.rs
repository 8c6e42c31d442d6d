//! Builds the probe: the query that finds out why no row was written.

use std::fmt::Write as _;
use std::ops::Range;

use super::dialect::Dialect;
use super::fenced_syntax_tree::Added;
use super::find_clauses::Clauses;
use super::find_placeholders::Placeholders;
use super::rewrite_request::Asked;

/// Returns the locking clause of the probe. With REPEATABLE READ, a plain read would return the data before the newer
/// holder's write. The parser does not support this clause, so the caller adds the clause after the check of the probe.
pub(super) const fn lock(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => " LOCK IN SHARE MODE",
        Dialect::Postgres | Dialect::Sqlite => "",
    }
}

/// The text of the probe, and the values that it uses.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) sql: String,
    /// The probe for the rows that policies show to an `UPDATE`.
    pub(super) confirmed: Option<String>,
    pub(super) values: Option<Vec<usize>>,
}

pub(super) fn probe(
    asked: Asked<'_>,
    clauses: &Clauses,
    placeholders: &Placeholders,
    added: &Added,
    joined: bool,
    guarded: Option<&str>,
) -> Probe {
    let Asked { dialect, sql, .. } = asked;
    let copy = || Copy {
        asked,
        placeholders,
        text: String::with_capacity(sql.len() + 128),
        taken: Vec::new(),
    };
    let column = format!("{}.{}", added.compared[0], added.compared[1]);
    // Cast the maximum to the size of a token, because the column may have a smaller integer type.
    let number = match dialect {
        Dialect::MySql => "SIGNED",
        Dialect::Postgres | Dialect::Sqlite => "BIGINT",
    };
    let stale = format!("{column} > {}", added.placeholder);
    let policies = match guarded {
        Some(table) => format!(", row_security_active('{table}')"),
        None => String::new(),
    };
    let mut first = copy();
    first.take(0..clauses.start);
    first.write(&format!(
        "SELECT count(*), CAST(max({column}) AS {number}){policies} FROM "
    ));
    first.rows(clauses, joined, &stale);
    let confirmed = guarded.map(|_| {
        let mut confirmed = copy();
        confirmed.take(0..clauses.start);
        confirmed.write(&format!(
            "SELECT count(*), CAST(max(stale.token) AS BIGINT) FROM (SELECT {column} AS token FROM "
        ));
        confirmed.rows(clauses, joined, &stale);
        // With a lock, the policies for UPDATE apply, too. `FOR KEY SHARE` is the weakest lock.
        let target = &added.compared[0];
        confirmed.write(&format!(" FOR KEY SHARE OF {target}) AS stale"));
        confirmed.text
    });
    Probe {
        sql: first.text,
        confirmed,
        values: (dialect == Dialect::MySql).then_some(first.taken),
    }
}

struct Copy<'a> {
    asked: Asked<'a>,
    placeholders: &'a Placeholders,
    text: String,
    taken: Vec<usize>,
}

impl Copy<'_> {
    fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes the tables, the condition, and a further condition.
    fn rows(&mut self, clauses: &Clauses, joined: bool, further: &str) {
        self.take(clauses.tables.clone());
        if let Some(others) = &clauses.others {
            self.write(", ");
            self.others(others.clone(), clauses, joined);
        }
        self.write(" WHERE ");
        if let Some(condition) = &clauses.condition {
            self.use_up(condition.start);
            self.write("(");
            self.take(condition.clone());
            self.write(") AND ");
        }
        // With LIMIT 0 the statement writes no row, so a newer token is not the reason.
        if let Some(limit) = &clauses.limit {
            self.use_up(limit.start);
            self.write("(");
            self.take(limit.clone());
            self.write(") <> 0 AND ");
        }
        self.use_up(self.asked.sql.len());
        self.write(further);
    }

    /// Adds conditions that use the unused values before this position, and are always true. On `MySQL` placeholders
    /// have no numbers, so the probe must use all values that are already bound.
    fn use_up(&mut self, until: usize) {
        if !self.asked.only_appends() {
            return;
        }
        let found = self.placeholders.found.iter().enumerate();
        for (index, _) in found.skip(self.taken.len()).take_while(|it| it.1.0 < until) {
            self.text.push_str("(? IS NULL OR TRUE) AND ");
            self.taken.push(index);
        }
    }

    /// Copies the further tables. `SQLite` joins them with each other before it joins the written table, and on
    /// `SQLite` a comma has the same precedence as `JOIN`.
    fn others(&mut self, others: Range<usize>, clauses: &Clauses, joined: bool) {
        if self.asked.dialect != Dialect::Sqlite || !joined {
            return self.take(others);
        }
        self.write("(");
        let mut start = others.start;
        for &comma in &clauses.commas {
            self.take(start..comma);
            self.write(" JOIN ");
            start = comma + 1;
        }
        self.take(start..others.end);
        self.write(")");
    }

    /// Copies a part of the statement. Bare `?` get numbers, because the probe does not contain all of them.
    fn take(&mut self, range: Range<usize>) {
        let numbered = self.asked.dialect == Dialect::Sqlite && self.placeholders.counted;
        let mut done = range.start;
        for (index, (at, text)) in self.placeholders.found.iter().enumerate() {
            if !range.contains(at) {
                continue;
            }
            self.taken.push(index);
            if numbered {
                self.text.push_str(&self.asked.sql[done..*at]);
                // Writing to a `String` cannot fail.
                let _ = write!(self.text, "${}", index + 1);
                done = at + text.len();
            }
        }
        self.text.push_str(&self.asked.sql[done..range.end]);
    }
}
