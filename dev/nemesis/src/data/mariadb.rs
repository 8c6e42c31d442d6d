//! Rows in `MariaDB`.

use sqlx::mysql::MySqlPoolOptions;

use super::sql::store;

store!(
    MariaDb,
    sqlx::MySql,
    schema: "CREATE TABLE IF NOT EXISTS ledgers (id BIGINT PRIMARY KEY, counter BIGINT NOT NULL, entries LONGTEXT NOT NULL) ENGINE=InnoDB; \
             CREATE TABLE IF NOT EXISTS trails (id BIGINT PRIMARY KEY, entries LONGTEXT NOT NULL) ENGINE=InnoDB",
    rows: [
        "INSERT INTO ledgers (id, counter, entries) VALUES (?, 0, '')",
        "INSERT INTO trails (id, entries) VALUES (?, '')"
    ],
    read_ledger: "SELECT counter, entries FROM ledgers WHERE id = ?",
    write_ledger: "UPDATE ledgers SET counter = ?, entries = ? WHERE id = ?",
    read_trail: "SELECT entries FROM trails WHERE id = ?",
    append: "UPDATE trails SET entries = CONCAT(entries, ?) WHERE id = ?",
);

impl MariaDb {
    pub(super) async fn connect(url: &str) -> Result<Self, sqlx::Error> {
        let pool = MySqlPoolOptions::new().max_connections(4).connect(url);
        Ok(Self::new(pool.await?))
    }
}
