//! Rows in Postgres.

use sqlx::postgres::PgPoolOptions;

use super::sql::store;

store!(
    Postgres,
    sqlx::Postgres,
    schema: "CREATE TABLE IF NOT EXISTS ledgers (id BIGINT PRIMARY KEY, counter BIGINT NOT NULL, entries TEXT NOT NULL); \
             CREATE TABLE IF NOT EXISTS trails (id BIGINT PRIMARY KEY, entries TEXT NOT NULL)",
    rows: [
        "INSERT INTO ledgers (id, counter, entries) VALUES ($1, 0, '')",
        "INSERT INTO trails (id, entries) VALUES ($1, '')"
    ],
    read_ledger: "SELECT counter, entries FROM ledgers WHERE id = $1",
    write_ledger: "UPDATE ledgers SET counter = $1, entries = $2 WHERE id = $3",
    read_trail: "SELECT entries FROM trails WHERE id = $1",
    append: "UPDATE trails SET entries = entries || $1 WHERE id = $2",
);

impl Postgres {
    pub(super) async fn connect(url: &str) -> Result<Self, sqlx::Error> {
        let pool = PgPoolOptions::new().max_connections(4).connect(url);
        Ok(Self::new(pool.await?))
    }
}
