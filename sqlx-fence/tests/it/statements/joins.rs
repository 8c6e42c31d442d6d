//! Random statements over random rows: all kinds of joins, queries in `WITH`, aliases, and colliding names.

use fastrand::Rng;

use crate::statements::placed::Statement;
use crate::statements::random::Flavour;

pub(crate) const TABLES: [&str; 3] = ["pears", "plums", "figs"];
/// The tokens of rows: newer, equal, none, and older.
const TOKENS: [&str; 6] = ["8", "20", "7", "NULL", "0", "6"];

/// Generates statements that set `touched` to 1, or delete.
#[derive(Debug)]
pub(crate) struct Joins {
    pub(crate) flavour: Flavour,
    pub(crate) rng: Rng,
    /// The names that can qualify columns at this position. The first is the name of the written table.
    pub(crate) names: Vec<String>,
    pub(crate) aliases: u8,
    /// The names of queries in `WITH`.
    pub(crate) with: Vec<String>,
}

/// The tables, which have some columns with equal names.
pub(crate) const SCHEMA: &str = "\
CREATE TABLE pears (id BIGINT, amount BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY, noted BIGINT DEFAULT 0);\
CREATE TABLE plums (id BIGINT, factor BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY, noted BIGINT DEFAULT 0);\
CREATE TABLE figs (id BIGINT, amount BIGINT, factor BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY, noted BIGINT DEFAULT 0)";

/// A view, a partitioned table, and a table with a child table.
pub(crate) const POSTGRES_SCHEMA: &str = "\
CREATE TABLE pears (id BIGINT, amount BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY, noted BIGINT DEFAULT 0);\
CREATE TABLE plums (id BIGINT, factor BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY, noted BIGINT DEFAULT 0) PARTITION BY HASH (line);\
CREATE TABLE plums_0 PARTITION OF plums FOR VALUES WITH (MODULUS 2, REMAINDER 0);\
CREATE TABLE plums_1 PARTITION OF plums FOR VALUES WITH (MODULUS 2, REMAINDER 1);\
CREATE TABLE figs (id BIGINT, amount BIGINT, factor BIGINT, touched BIGINT, fencing_token BIGINT, line BIGINT PRIMARY KEY, noted BIGINT DEFAULT 0);\
CREATE TABLE more_figs () INHERITS (figs);";

/// The rows of `pears` with a positive id.
pub(crate) const VIEW: &str = "CREATE VIEW shelf AS SELECT * FROM pears WHERE id > 0";

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

    /// Returns statements that fill all tables.
    pub(crate) fn rows(&mut self) -> String {
        let mut sql = String::new();
        // If all tokens are newer, every write is stale.
        let tokens = if self.rng.u8(0..3) == 0 {
            &TOKENS[..2]
        } else {
            &TOKENS[..]
        };
        for (table, columns) in TABLES.into_iter().zip([1, 1, 2]) {
            sql.push_str(&format!("DELETE FROM {table};"));
            let lines = (0..self.rng.u8(1..5)).map(|line| {
                let values: Vec<&str> = (0..=columns).map(|_| self.cell()).collect();
                let token = self.pick(tokens);
                format!("({}, 0, {token}, {line}, 0)", values.join(", "))
            });
            let lines: Vec<String> = lines.collect();
            sql.push_str(&format!("INSERT INTO {table} VALUES {};", lines.join(", ")));
            if table == "figs" && self.flavour == Flavour::Postgres {
                let token = self.pick(tokens);
                let values: Vec<&str> = (0..=columns).map(|_| self.cell()).collect();
                let values = values.join(", ");
                sql.push_str(&format!(
                    "INSERT INTO more_figs VALUES ({values}, 0, {token}, 9, 0);"
                ));
            }
        }
        sql
    }

    fn cell(&mut self) -> &'static str {
        self.pick(&["NULL", "0", "1", "2", "3"])
    }

    /// Returns a statement, and the table that it writes.
    pub(crate) fn statement(&mut self) -> (Statement, &'static str) {
        self.names.clear();
        self.with.clear();
        self.aliases = 0;
        let table = self.pick(&TABLES);
        let is_view = self.flavour != Flavour::Sqlite && self.rng.u8(0..10) == 0;
        let (table, written) = if is_view {
            ("pears", "shelf")
        } else {
            (table, table)
        };
        let sql = match self.flavour {
            Flavour::MySql => self.mysql(written),
            Flavour::Postgres | Flavour::Sqlite => self.other(written),
        };
        (self.placed(&sql), table)
    }

    fn other(&mut self, table: &str) -> String {
        let (postgres, sqlite) = (
            self.flavour == Flavour::Postgres,
            self.flavour == Flavour::Sqlite,
        );
        let mut sql = String::new();
        if self.rng.u8(0..3) == 0 {
            let name = match self.rng.u8(0..4) {
                0 => table.to_uppercase(),
                1 => self.pick(&TABLES).to_owned(),
                _ => "chosen".to_owned(),
            };
            sql.push_str(&self.query_in_with(&name));
            self.with.push(name);
        }
        let delete = self.rng.u8(0..3) == 0;
        sql.push_str(if delete { "DELETE FROM " } else { "UPDATE " });
        if sqlite && !delete && self.rng.u8(0..8) == 0 {
            let or = ["OR ABORT ", "OR IGNORE ", "OR FAIL ", "OR ROLLBACK "];
            sql.push_str(self.pick(&or));
        }
        if postgres && self.rng.u8(0..5) == 0 {
            sql.push_str("ONLY ");
        }
        if self.rng.u8(0..4) == 0 {
            sql.push_str(if postgres { "public." } else { "main." });
        }
        sql.push_str(&self.named(table));
        if self.rng.u8(0..2) == 0 {
            let alias = self.pick(&["target", "plums", "chosen", "t", "\"T\""]);
            let word = self.pick(&[" AS ", " "]);
            // SQLite requires `AS` before this alias.
            sql.push_str(if sqlite { " AS " } else { word });
            sql.push_str(alias);
            self.names.push(alias.to_owned());
        } else {
            self.names.push(table.to_owned());
        }
        if !delete {
            sql.push_str(&self.assignments(""));
        }
        let joins = !(delete && sqlite) && self.rng.u8(0..4) > 0;
        if joins {
            sql.push_str(if delete { " USING " } else { " FROM " });
            let sources = self.sources();
            sql.push_str(&sources);
        }
        sql + &self.end()
    }

    fn mysql(&mut self, table: &str) -> String {
        let alias = self.pick(&["target", "plums", "t", "`T`"]);
        let alias = if self.rng.bool() { alias } else { table };
        self.names.push(alias.to_owned());
        let called = self.named(table);
        let first = if alias == table {
            called
        } else {
            format!("{called} AS {alias}")
        };
        let mut sources = first;
        // MariaDB 10.11 crashes on some joins of views.
        let joins = if table == "shelf" {
            0
        } else {
            self.rng.u8(0..3)
        };
        for _ in 0..joins {
            let join = self.joined();
            sources.push_str(&join);
        }
        let delete = self.rng.u8(0..3) == 0;
        let end = self.end();
        let single = self.names.len() == 1;
        let order = match self.rng.u8(0..6) {
            0 if single => " ORDER BY line DESC",
            1 if single => " LIMIT 100",
            _ => "",
        };
        match delete {
            true if single && alias == table => format!("DELETE FROM {sources}{end}{order}"),
            true if self.rng.bool() => format!("DELETE FROM {alias} USING {sources}{end}"),
            true => format!("DELETE {alias} FROM {sources}{end}"),
            false => {
                let assignments = self.assignments(&format!("{alias}."));
                format!("UPDATE {sources}{assignments}{end}{order}")
            }
        }
    }

    /// Returns the `SET` clause, whose assignments show the effect of the statement.
    fn assignments(&mut self, qualifier: &str) -> String {
        let first = format!("{qualifier}touched = 1");
        // A database may choose any of several joined rows. So the value depends only on the written row.
        let others = self.names.split_off(1);
        let noted = self.number(2);
        self.names.extend(others);
        let second = format!("{qualifier}noted = {noted}");
        match self.rng.u8(0..8) {
            0..4 => format!(" SET {first}"),
            4 if self.flavour != Flavour::MySql => format!(" SET (touched, noted) = (1, {noted})"),
            5 if self.flavour != Flavour::MySql => {
                format!(" SET (noted, touched) = (SELECT {noted}, 1)")
            }
            6 => format!(" SET {second}, {first}"),
            _ => format!(" SET {first}, {second}"),
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

    /// Returns a further table and its join.
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
}
