//! The conditions and values of random statements.

use crate::statements::joins::{Joins, TABLES};
use crate::statements::random::Flavour;

impl Joins {
    pub(crate) fn condition(&mut self, depth: u8) -> String {
        let kind = match depth {
            0 => self.rng.u8(0..3),
            _ => self.rng.u8(0..26),
        };
        match kind {
            0 | 1 => {
                let operator = self.pick(&["=", "<", ">=", "<>"]);
                format!("{} {operator} {}", self.operand(), self.operand())
            }
            2 => format!("{} IS NULL", self.operand()),
            3..6 => {
                let operator = self.pick(&["OR", "OR", "AND"]);
                let left = self.condition(depth - 1);
                format!("{left} {operator} {}", self.condition(depth - 1))
            }
            6 => format!("NOT ({})", self.condition(depth - 1)),
            7 => {
                let truth = self.pick(&["IS TRUE", "IS NOT TRUE", "IS NOT FALSE"]);
                format!("({}) {truth}", self.condition(depth - 1))
            }
            8 => {
                let not = self.pick(&["", "NOT "]);
                let (low, high) = (self.operand(), self.operand());
                format!("{} {not}BETWEEN {low} AND {high}", self.operand())
            }
            9 => format!("{} = {}", self.operand(), self.number(depth)),
            // `nullif` prevents a division by zero, because the order in which conditions are evaluated is not
            // specified.
            10 => format!("10 / nullif({}, 0) > 3", self.operand()),
            11..15 => {
                let not = self.pick(&["", "NOT "]);
                format!("{} {not}IN ({})", self.operand(), self.ids(depth - 1))
            }
            15..18 => {
                let not = self.pick(&["", "NOT "]);
                format!("{not}EXISTS ({})", self.ids(depth - 1))
            }
            18 => {
                let (left, right) = (self.operand(), self.operand());
                let (one, other) = (self.operand(), self.operand());
                format!("({left}, {right}) = ({one}, {other})")
            }
            19 => {
                let table = self.pick(&TABLES);
                format!(
                    "({}, {}) IN (SELECT id, line FROM {table})",
                    self.operand(),
                    self.operand()
                )
            }
            _ => self.own(depth - 1),
        }
    }

    /// Returns a condition that only one database supports.
    fn own(&mut self, depth: u8) -> String {
        let (one, other) = (self.operand(), self.operand());
        let row = self.names[0].clone();
        match (self.flavour, self.rng.u8(0..8)) {
            (Flavour::Postgres | Flavour::MySql, 0) => {
                let operator = self.pick(&["= ANY", "<> ALL", "< SOME"]);
                format!("{one} {operator} ({})", self.ids(depth))
            }
            (Flavour::Postgres, 1) => format!("{one} = ANY (ARRAY[0, {other}, NULL])"),
            (Flavour::Postgres, 2) => format!("ARRAY[{one}] && ARRAY[{other}]"),
            (Flavour::Postgres, 3) => {
                format!(
                    "jsonb_build_object('a', {one}) @> '{{\"a\": 1}}' AND '{{\"a\": 1}}'::jsonb ? 'a'"
                )
            }
            (Flavour::Postgres, 4) => format!("({row}) IS NOT NULL"),
            (Flavour::Postgres, 5) => format!("{one}::text || '?' = '1?'"),
            (Flavour::Postgres, 6) => format!("num_nulls({row}.*) > 0"),
            (Flavour::Sqlite, 0) => format!("{one} IS {other}"),
            (Flavour::Sqlite, 1) => format!("{one} IS NOT {other} OR {one} == 1"),
            (Flavour::Sqlite, 2) => format!("{one} ISNULL OR {other} NOT NULL"),
            (Flavour::Sqlite, 3) => format!("{one} << 1 = {other} | 2"),
            (Flavour::Sqlite, 4) => format!("CAST({one} AS TEXT) NOT GLOB '[12]'"),
            (Flavour::Sqlite, 5) => format!("{one} IN {}", self.pick(&["(1, 2)", "()", "(NULL)"])),
            (Flavour::MySql, 1) => format!("{one} <=> {other}"),
            (Flavour::MySql, 2) => format!("{one} = 1 XOR {other} = 2"),
            (Flavour::MySql, 3) => format!("{one} MOD 2 = {other} DIV 2"),
            (Flavour::MySql, 4) => format!("! {one} && {other} || {one} = 1"),
            (Flavour::MySql, 5) => format!("CONCAT({one}, '?') REGEXP '[12]'"),
            (Flavour::MySql, 6) => format!("{one} -1 -- 1\n = {other}"),
            _ => format!("coalesce({one}, 1) = nullif({other}, 2)"),
        }
    }

    /// Returns a query with one column. Its tables can be named only inside of it.
    fn ids(&mut self, depth: u8) -> String {
        let known = self.names.len();
        self.aliases += 1;
        let table = match self.rng.u8(0..4) {
            0 if !self.with.is_empty() => self.with[0].clone(),
            _ => self.pick(&TABLES).to_owned(),
        };
        // The alias hides the written table.
        let alias = match self.rng.u8(0..6) {
            0 => self.names[0].clone(),
            _ => format!("s{}", self.aliases),
        };
        let outer = self.operand();
        self.names.push(alias.clone());
        let condition = self.condition(depth);
        self.names.truncate(known);
        let other = self.pick(&TABLES);
        match self.rng.u8(0..12) {
            0 => format!("SELECT max({alias}.id) FROM {table} AS {alias} WHERE {condition}"),
            // In `SET`, SQLite treats it as an aggregate over all updated rows.
            1 if self.flavour != Flavour::Sqlite => format!("SELECT max({outer}) FROM {table} AS {alias} WHERE {condition}"),
            2 => format!(
                "SELECT id FROM (SELECT id FROM {table} AS {alias} ORDER BY line, id LIMIT 2) AS limited"
            ),
            3 => format!(
                "SELECT n FROM (SELECT line, row_number() OVER (PARTITION BY id ORDER BY line) AS n FROM {other}) AS w WHERE w.line <> 1"
            ),
            4 => {
                let operator = self.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                format!(
                    "SELECT {alias}.id FROM {table} AS {alias} WHERE {condition} {operator} SELECT id FROM {other}"
                )
            }
            5 => format!(
                "SELECT {alias}.id FROM {table} AS {alias} WHERE {condition} GROUP BY {alias}.id HAVING count(*) > 1"
            ),
            // MariaDB 10.11 crashes on some of these.
            6 if self.flavour != Flavour::MySql => "WITH RECURSIVE r (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 2) SELECT n FROM r"
                .to_owned(),
            7 => format!(
                "WITH {other} AS (SELECT 1 AS id UNION SELECT {outer}) SELECT {other}.id FROM {other}"
            ),
            8 => format!(
                "SELECT {alias}.id FROM {table} AS {alias} LEFT JOIN {other} AS o ON o.id = {alias}.id WHERE {condition}"
            ),
            _ => format!("SELECT {alias}.id FROM {table} AS {alias} WHERE {condition}"),
        }
    }

    pub(crate) fn number(&mut self, depth: u8) -> String {
        let kind = match depth {
            0 => self.rng.u8(0..2),
            _ => self.rng.u8(0..7),
        };
        let operand = self.operand();
        match kind {
            0 | 1 => operand,
            2 => format!(
                "CASE WHEN {} THEN {operand} ELSE {} END",
                self.condition(depth - 1),
                self.number(depth - 1)
            ),
            3 => {
                let table = self.pick(&TABLES);
                format!("(SELECT count(*) FROM {table} AS c WHERE c.id = {operand})")
            }
            4 => format!(
                "(SELECT max(m.q) FROM (SELECT 1 AS q UNION SELECT 3) AS m WHERE m.q <= {operand})"
            ),
            5 => format!("coalesce({operand}, {})", self.number(depth - 1)),
            _ => format!("({operand} - {})", self.number(depth - 1)),
        }
    }

    pub(crate) fn operand(&mut self) -> String {
        let column = self.pick(&[
            "id",
            "id",
            "id",
            "line",
            "touched",
            "amount",
            "factor",
            "fencing_token",
        ]);
        match self.rng.u8(0..9) {
            0 => column.to_owned(),
            1 | 2 => self.rng.u8(0..4).to_string(),
            3 => format!("{}.{column}", self.names[0]),
            4 => format!("{}.id", self.names[0]),
            5 => self.value(),
            6 => {
                let quoted = self.quoted(column);
                format!("{}.{quoted}", self.names[0])
            }
            _ => format!("{}.id", self.names[self.rng.usize(0..self.names.len())]),
        }
    }

    /// Returns a number or NULL, as a literal or as a bound value.
    pub(crate) fn value(&mut self) -> String {
        let value = self.pick(&["NULL", "0", "1", "2", "3"]);
        match self.rng.bool() {
            true => format!("\u{1}{value}\u{2}"),
            false => value.to_owned(),
        }
    }

    /// Returns the name of a table, sometimes in quotes.
    pub(crate) fn named(&mut self, table: &str) -> String {
        match self.rng.u8(0..4) {
            0 if !self.with.iter().any(|it| it == table) => self.quoted(table),
            _ => table.to_owned(),
        }
    }

    fn quoted(&mut self, name: &str) -> String {
        let (open, close) = match self.flavour {
            Flavour::Postgres => ("\"", "\""),
            Flavour::MySql => ("`", "`"),
            Flavour::Sqlite => [("\"", "\""), ("`", "`"), ("[", "]")][self.rng.usize(0..3)],
        };
        format!("{open}{name}{close}")
    }

    pub(crate) fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.usize(0..from.len())]
    }
}
