//! Random statements over random rows: joins of all kinds, queries in `WITH`, aliases and names that collide.

use fastrand::Rng;

use crate::random::Flavour;

const TABLES: [&str; 3] = ["pears", "plums", "figs"];
/// What a token may be: none, older than ours, ours, and newer.
const TOKENS: [&str; 6] = ["NULL", "0", "6", "7", "8", "20"];

/// A source of statements that set `touched` to 1, or delete.
#[derive(Debug)]
pub(crate) struct Joins {
    flavour: Flavour,
    pub(crate) rng: Rng,
    /// By which names columns can be called so far.
    names: Vec<String>,
    aliases: u8,
    /// Names that stand for queries.
    with: Vec<String>,
}

/// The tables, each with some columns that others have, too.
pub(crate) const SCHEMA: &str = "\
CREATE TABLE pears (id BIGINT, amount BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY);\
CREATE TABLE plums (id BIGINT, factor BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY);\
CREATE TABLE figs (id BIGINT, amount BIGINT, factor BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY)";

impl Joins {
    pub(crate) const fn new(flavour: Flavour, rng: Rng) -> Self {
        Self {
            flavour,
            rng,
            names: Vec::new(),
            aliases: 0,
            with: Vec::new(),
        }
    }

    /// Statements that fill all tables.
    pub(crate) fn rows(&mut self) -> String {
        let mut sql = String::new();
        for (table, columns) in TABLES.into_iter().zip([1, 1, 2]) {
            sql.push_str(&format!("DELETE FROM {table};"));
            let lines = (0..self.rng.u8(1..5)).map(|line| {
                let values: Vec<String> = (0..=columns).map(|_| self.value()).collect();
                let token = self.pick(&TOKENS);
                format!("({}, 0, {token}, {line})", values.join(", "))
            });
            let lines: Vec<String> = lines.collect();
            sql.push_str(&format!("INSERT INTO {table} VALUES {};", lines.join(", ")));
        }
        sql
    }

    /// A statement, and the table that it writes to.
    pub(crate) fn statement(&mut self) -> (String, &'static str) {
        self.names.clear();
        self.with.clear();
        self.aliases = 0;
        let table = self.pick(&TABLES);
        let sql = match self.flavour {
            Flavour::MySql => self.mysql(table),
            Flavour::Postgres | Flavour::Sqlite => self.other(table),
        };
        (sql, table)
    }

    fn other(&mut self, table: &str) -> String {
        let mut sql = String::new();
        if self.rng.u8(0..3) == 0 {
            let name = match self.rng.u8(0..4) {
                0 => table.to_uppercase(),
                1 => self.pick(&TABLES).to_owned(),
                _ => "chosen".to_owned(),
            };
            let from = self.pick(&TABLES);
            let limit = self.value();
            let columns = self.pick(&[
                "id",
                "id, amount",
                "id, touched, fencing_token",
                "id, factor AS amount",
            ]);
            sql.push_str(&format!(
                "WITH {name} AS (SELECT {columns} FROM {from} WHERE id <> {limit}) "
            ));
            self.with.push(name);
        }
        let delete = self.rng.u8(0..3) == 0;
        sql.push_str(if delete { "DELETE FROM " } else { "UPDATE " });
        let schema = match self.flavour {
            Flavour::Postgres => "public.",
            _ => "main.",
        };
        if self.rng.u8(0..4) == 0 {
            sql.push_str(schema);
        }
        sql.push_str(table);
        if self.rng.u8(0..2) == 0 {
            let alias = self.pick(&["target", "plums", "chosen", "t"]);
            sql.push_str(&format!(" AS {alias}"));
            self.names.push(alias.to_owned());
        } else {
            self.names.push(table.to_owned());
        }
        if !delete {
            sql.push_str(" SET touched = 1");
        }
        let joins = !(delete && self.flavour == Flavour::Sqlite) && self.rng.u8(0..4) > 0;
        if joins {
            sql.push_str(if delete { " USING " } else { " FROM " });
            let sources = self.sources();
            sql.push_str(&sources);
        }
        sql + &self.end()
    }

    fn mysql(&mut self, table: &str) -> String {
        let alias = self.pick(&["target", "plums", "t"]);
        let alias = if self.rng.bool() { alias } else { table };
        self.names.push(alias.to_owned());
        let first = if alias == table {
            table.to_owned()
        } else {
            format!("{table} AS {alias}")
        };
        let mut sources = first;
        for _ in 0..self.rng.u8(0..3) {
            let join = self.joined();
            sources.push_str(&join);
        }
        let delete = self.rng.u8(0..3) == 0;
        let end = self.end();
        match (delete, self.names.len()) {
            (true, 1) if alias == table => format!("DELETE FROM {sources}{end}"),
            (true, _) if self.rng.bool() => format!("DELETE FROM {alias} USING {sources}{end}"),
            (true, _) => format!("DELETE {alias} FROM {sources}{end}"),
            _ => format!("UPDATE {sources} SET {alias}.touched = 1{end}"),
        }
    }

    fn end(&mut self) -> String {
        match self.rng.u8(0..5) {
            0 => String::new(),
            _ => format!(" WHERE {}", self.condition(2)),
        }
    }

    fn sources(&mut self) -> String {
        let mut sql = self.source();
        for _ in 0..self.rng.u8(0..3) {
            let join = self.joined();
            sql.push_str(&join);
        }
        sql
    }

    /// A further table, and how it is joined.
    fn joined(&mut self) -> String {
        let before = self.names.len() - 1;
        let kinds = ["JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"];
        let kinds = if self.flavour == Flavour::MySql {
            &kinds[..4]
        } else {
            &kinds[..]
        };
        let kind = self.pick(kinds);
        match self.rng.u8(0..6) {
            0 => format!(", {}", self.source()),
            1 => format!(" CROSS JOIN {}", self.source()),
            2 => format!(" NATURAL {} {}", kind.replace("INNER ", ""), self.source()),
            3 => format!(" {kind} {} USING (id)", self.source()),
            _ => {
                let source = self.source();
                let (left, right) = (&self.names[before], &self.names[before + 1]);
                let column = if self.rng.u8(0..4) == 0 {
                    "fencing_token"
                } else {
                    "id"
                };
                format!(" {kind} {source} ON {left}.{column} = {right}.id")
            }
        }
    }

    fn source(&mut self) -> String {
        self.aliases += 1;
        let alias = format!("s{}", self.aliases);
        let table = match self.rng.u8(0..3) {
            0 if !self.with.is_empty() => self.with[0].clone(),
            _ => self.pick(&TABLES).to_owned(),
        };
        let (sql, name) = match self.rng.u8(0..4) {
            0 => (table.clone(), table),
            1 => {
                let number = self.value();
                let columns = self.pick(&["id", "id, touched", "*"]);
                (
                    format!("(SELECT {columns} FROM {table} WHERE id > {number}) AS {alias}"),
                    alias,
                )
            }
            _ => (format!("{table} AS {alias}"), alias),
        };
        self.names.push(name);
        sql
    }

    fn condition(&mut self, depth: u8) -> String {
        let kind = if depth == 0 {
            self.rng.u8(0..3)
        } else {
            self.rng.u8(0..9)
        };
        match kind {
            0 | 1 => {
                let operator = self.pick(&["=", "<", ">=", "<>"]);
                format!("{} {operator} {}", self.operand(), self.operand())
            }
            2 => format!("{} IS NULL", self.operand()),
            3 | 4 => format!(
                "{} OR {}",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            5 => format!(
                "{} AND {}",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            6 => format!("NOT ({})", self.condition(depth - 1)),
            7 => {
                let table = self.pick(&TABLES);
                format!(
                    "{} IN (SELECT s.id FROM {table} AS s WHERE s.id > {})",
                    self.operand(),
                    self.value()
                )
            }
            _ => {
                let (table, operand) = (self.pick(&TABLES), self.operand());
                format!(
                    "EXISTS (SELECT 1 FROM {table} AS s WHERE s.id = {operand} AND s.fencing_token IS NOT NULL)"
                )
            }
        }
    }

    fn operand(&mut self) -> String {
        let column = self.pick(&[
            "id",
            "id",
            "id",
            "touched",
            "amount",
            "factor",
            "fencing_token",
        ]);
        match self.rng.u8(0..8) {
            0 => column.to_owned(),
            1 | 2 => self.rng.u8(0..4).to_string(),
            3 => format!("{}.{column}", self.names[0]),
            4 => format!("{}.id", self.names[0]),
            _ => format!("{}.id", self.names[self.rng.usize(0..self.names.len())]),
        }
    }

    fn value(&mut self) -> String {
        self.pick(&["NULL", "0", "1", "2", "3"]).to_owned()
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.usize(0..from.len())]
    }
}
