//! Generates random statements from a grammar. All of them can be fenced and executed.

use std::borrow::Cow;

use fastrand::Rng;
use leasehold_testkit::depth;

use crate::statements::case::{Case, V};

/// The number of random statements for each database in `cargo test`.
pub(crate) const STATEMENTS: u64 = 100;

/// The database of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Postgres,
    MySql,
    Sqlite,
}

/// Generates random statements.
#[derive(Debug)]
pub(crate) struct Random {
    pub(crate) flavour: Flavour,
    pub(crate) rng: Rng,
    values: Vec<V>,
    /// `?`, `?1` or `$1`.
    style: u8,
    /// The name of the table in the current statement.
    table: &'static str,
}

const STRINGS: [&str; 8] = [
    "'it''s'",
    "' WHERE 1 = 1 -- '",
    "'/* ? */'",
    "'$1 ? ;'",
    "''",
    "'ünï 🦀'",
    "') OR (1 = 1'",
    "'\"`['",
];

impl Random {
    pub(crate) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            rng: Rng::with_seed(depth::seed()),
            values: Vec::new(),
            style: 0,
            table: "items",
        }
    }

    pub(crate) fn statement(&mut self) -> Case {
        self.values.clear();
        self.style = self.rng.u8(0..3);
        let (mysql, sqlite) = (
            self.flavour == Flavour::MySql,
            self.flavour == Flavour::Sqlite,
        );
        let delete = self.rng.u8(0..4) == 0;
        let alias = self.rng.bool() && !(mysql && delete);
        self.table = if alias { "t" } else { "items" };
        let mut parts: Vec<String> = Vec::new();
        if !mysql && self.rng.u8(0..4) == 0 {
            let condition = self.others();
            parts.push(format!(
                "WITH x AS (SELECT item FROM others WHERE {condition})"
            ));
        }
        let verb = match (delete, self.rng.bool()) {
            (true, true) => "DELETE FROM",
            (true, false) => "delete from",
            (false, true) => "UPDATE",
            (false, false) => "update",
        };
        parts.push(verb.to_owned());
        if sqlite && !delete && self.rng.u8(0..4) == 0 {
            parts.push("OR ABORT".to_owned());
        }
        parts.push("items".to_owned());
        if alias {
            parts.push("AS t".to_owned());
        }
        if !delete {
            parts.push("SET".to_owned());
            let amount = self.number(2);
            let mut assignments = format!("amount = {amount}");
            if self.rng.bool() {
                let text = self.string();
                assignments.push_str(&format!(", note = {text}"));
            }
            parts.push(assignments);
        }
        if !mysql && self.rng.u8(0..4) == 0 {
            let word = if delete { "USING" } else { "FROM" };
            if !(delete && sqlite) {
                parts.push(format!(
                    "{word} others o WHERE o.item = {}.id AND",
                    self.table
                ));
                let condition = self.condition(2);
                parts.push(format!("({condition})"));
            }
        } else if self.rng.u8(0..8) > 0 {
            parts.push("WHERE".to_owned());
            parts.push(self.condition(3));
        }
        if mysql && self.rng.bool() {
            // The limit covers all nine rows, because the chosen rows of a smaller limit are not specified.
            let end = ["ORDER BY id DESC", "LIMIT 9"][self.rng.usize(0..2)];
            parts.push(end.to_owned());
        }
        if !mysql && self.rng.u8(0..4) == 0 {
            parts.push("RETURNING amount".to_owned());
        }
        let mut sql = String::new();
        for part in parts {
            sql.push_str(&part);
            sql.push_str(self.gap());
        }
        sql.push_str([";", "", " ; ", "\n"][self.rng.usize(0..4)]);
        Case {
            sql: Cow::Owned(sql),
            values: Cow::Owned(self.values.clone()),
            target: None,
        }
    }

    fn gap(&mut self) -> &'static str {
        let gaps = match self.flavour {
            Flavour::MySql => [
                " ",
                "\n",
                "\r\n",
                " /* ? ' WHERE */ ",
                " -- ; '\n",
                " # ? \"\n",
            ],
            _ => [
                " ",
                "\n",
                "\r\n",
                " /* ? ' WHERE */ ",
                " -- ; '\n",
                "\t--\n",
            ],
        };
        gaps[self.rng.usize(0..gaps.len())]
    }

    fn placeholder(&mut self) -> String {
        let numbered = self.flavour == Flavour::Postgres
            || (self.flavour == Flavour::Sqlite && self.style > 0);
        let mark = match self.flavour {
            Flavour::Sqlite if self.style == 1 => '?',
            _ => '$',
        };
        if numbered && !self.values.is_empty() && self.rng.u8(0..3) == 0 {
            let again = self.rng.usize(0..self.values.len()) + 1;
            return format!("{mark}{again}");
        }
        self.values.push(V::I(self.rng.i64(0..12)));
        match numbered {
            true => format!("{mark}{}", self.values.len()),
            false => "?".to_owned(),
        }
    }

    fn string(&mut self) -> &'static str {
        STRINGS[self.rng.usize(0..STRINGS.len())]
    }

    fn column(&mut self) -> String {
        let name = ["id", "amount"][self.rng.usize(0..2)];
        format!("{}.{name}", self.table)
    }

    fn number(&mut self, depth: u8) -> String {
        let kind = if depth == 0 {
            self.rng.u8(0..3)
        } else {
            self.rng.u8(0..8)
        };
        match kind {
            0 => self.rng.u8(0..20).to_string(),
            1 => match self.flavour {
                // The database cannot infer the type of a placeholder without a cast.
                Flavour::Postgres => format!("{}::bigint", self.placeholder()),
                _ => self.placeholder(),
            },
            2 => self.column(),
            3 => {
                let (left, right) = (self.number(depth - 1), self.number(depth - 1));
                let operator = ["+", "-", "*"][self.rng.usize(0..3)];
                format!("({left}{}{operator} {right})", self.gap())
            }
            4 => {
                let (condition, then) = (self.condition(depth - 1), self.number(depth - 1));
                let other = self.number(depth - 1);
                format!("CASE WHEN {condition} THEN {then} ELSE {other} END")
            }
            5 => format!("abs({})", self.number(depth - 1)),
            6 => {
                let condition = self.others();
                format!("coalesce((SELECT max(factor) FROM others WHERE {condition}), 0)")
            }
            _ => format!("({})", self.number(depth - 1)),
        }
    }

    fn others(&mut self) -> String {
        let number = self.rng.u8(0..3);
        match self.rng.bool() {
            true => format!("factor = {number}"),
            false => format!(
                "item > {} OR factor < {number}",
                self.number(0)
                    .replace("items.", "others.")
                    .replace("t.", "others.")
                    .replace("amount", "factor")
            ),
        }
    }

    fn condition(&mut self, depth: u8) -> String {
        let kind = if depth == 0 { 0 } else { self.rng.u8(0..10) };
        let gap = self.gap();
        match kind {
            0 => {
                let (left, right) = (self.column(), self.number(0));
                let operator = ["=", "<", ">=", "<>"][self.rng.usize(0..4)];
                format!("{left} {operator} {right}")
            }
            1 | 2 => {
                let left = self.condition(depth - 1);
                format!("{left}{gap}OR {}", self.condition(depth - 1))
            }
            3 => {
                let left = self.condition(depth - 1);
                format!("{left}{gap}AND {}", self.condition(depth - 1))
            }
            4 => format!("NOT ({})", self.condition(depth - 1)),
            5 => {
                let (low, high) = (self.number(0), self.number(0));
                format!("{}.id BETWEEN {low} AND {high}", self.table)
            }
            6 => {
                let condition = self.others();
                format!(
                    "{}.id IN (SELECT item FROM others WHERE {condition})",
                    self.table
                )
            }
            7 => {
                let text = self.string();
                format!("{}.owner <> {text}", self.table)
            }
            8 => {
                let limit = self.rng.u8(1..9);
                let chosen = format!("SELECT id FROM items ORDER BY id DESC LIMIT {limit}");
                format!("{}.id IN (SELECT id FROM ({chosen}) AS chosen)", self.table)
            }
            _ => format!("{}.note IS NULL", self.table),
        }
    }
}
