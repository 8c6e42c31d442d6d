//! The tables and queries that a random statement reads.

use crate::statements::joins::{Joins, TABLES};
use crate::statements::random::Flavour;

impl Joins {
    /// Returns a `WITH` clause that defines a query `name`.
    pub(crate) fn query_in_with(&mut self, name: &str) -> String {
        let from = self.pick(&TABLES);
        let limit = self.value();
        let columns = self.pick(&[
            "id",
            "id, amount",
            "id, touched, fencing_token",
            "id, factor AS amount",
        ]);
        match self.rng.u8(0..6) {
            0 => format!(
                "WITH RECURSIVE {name} (id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM {name} WHERE id < 3) "
            ),
            1 => format!(
                "WITH {name} AS NOT MATERIALIZED (SELECT {columns} FROM {from} WHERE id <> {limit}) "
            ),
            2 => format!(
                "WITH other AS (SELECT * FROM {from} WHERE id >= {limit}), {name} AS (SELECT {columns} FROM other) "
            ),
            3 => format!("WITH {name} (id, amount) AS (SELECT id, {limit} FROM {from}) "),
            _ => format!("WITH {name} AS (SELECT {columns} FROM {from} WHERE id <> {limit}) "),
        }
    }

    pub(crate) fn source(&mut self) -> String {
        self.aliases += 1;
        let alias = format!("s{}", self.aliases);
        let table = match self.rng.u8(0..3) {
            0 if !self.with.is_empty() => self.with[0].clone(),
            _ => self.pick(&TABLES).to_owned(),
        };
        let (sql, name) = match self.rng.u8(0..9) {
            0 => (table.clone(), table),
            1 => {
                let number = self.value();
                let columns = self.pick(&["id", "id, touched", "*"]);
                (
                    format!("(SELECT {columns} FROM {table} WHERE id > {number}) AS {alias}"),
                    alias,
                )
            }
            2 => {
                let sql = self.made(&table, &alias);
                (sql, alias)
            }
            3 => {
                self.aliases += 1;
                // Sometimes uses the name of the written table.
                let inner = match self.rng.u8(0..4) {
                    0 => self.names[0].clone(),
                    _ => format!("s{}", self.aliases),
                };
                let other = self.pick(&TABLES);
                (
                    format!(
                        "({table} AS {alias} JOIN {other} AS {inner} ON {inner}.id = {alias}.id)"
                    ),
                    alias,
                )
            }
            _ => {
                let table = self.named(&table);
                (format!("{table} AS {alias}"), alias)
            }
        };
        self.names.push(name);
        sql
    }

    /// Returns a source that only some databases support.
    fn made(&mut self, table: &str, alias: &str) -> String {
        let before = self.names.last().cloned().unwrap_or_default();
        let number = self.value();
        match (self.flavour, self.rng.u8(0..5)) {
            (Flavour::Postgres, 0) => format!(
                "LATERAL (SELECT id, touched FROM {table} AS l WHERE l.id = {before}.id) AS {alias}"
            ),
            (Flavour::Postgres, 1) => format!("{table} AS {alias} TABLESAMPLE BERNOULLI (100)"),
            (Flavour::Postgres, 2) => format!("generate_series(0, 3) AS {alias} (id)"),
            (Flavour::Postgres, 3) => {
                format!("unnest(ARRAY[0, {number}, 2], ARRAY[1, 2, 3]) AS {alias} (id, amount)")
            }
            (Flavour::Postgres, _) => format!("(VALUES (0), ({number}), (2)) AS {alias} (id)"),
            (Flavour::Sqlite, 0 | 1) => {
                format!("(SELECT value AS id FROM json_each('[0, 1, 2]')) AS {alias}")
            }
            (Flavour::Sqlite, 2) => format!("json_each('[0, 1, 2]') AS {alias}"),
            (Flavour::MySql, 0 | 1) => {
                format!("JSON_TABLE('[0, 1, 2]', '$[*]' COLUMNS (id BIGINT PATH '$')) AS {alias}")
            }
            _ => format!(
                "(SELECT id, max(line) OVER (PARTITION BY id) AS amount FROM {table} WHERE line <> {number}) AS {alias}"
            ),
        }
    }
}
