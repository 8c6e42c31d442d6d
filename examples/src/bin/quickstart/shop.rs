use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};

/// How many items are for sale.
pub(crate) const STOCK: i64 = 10;

/// A shop with one product, in a database that processes can share.
#[derive(Debug, Clone)]
pub(crate) struct Shop {
    db: SqlitePool,
}

impl Shop {
    pub(crate) async fn open(database: &str) -> sqlx::Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(database)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Off);
        let db = SqlitePool::connect_with(options).await?;
        Ok(Self { db })
    }

    pub(crate) async fn stock_up(&self) -> sqlx::Result<()> {
        sqlx::query("CREATE TABLE item (stock INTEGER NOT NULL)")
            .execute(&self.db)
            .await?;
        sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
            .execute(&self.db)
            .await?;
        sqlx::query("INSERT INTO item VALUES (?)")
            .bind(STOCK)
            .execute(&self.db)
            .await?;
        Ok(())
    }

    /// Reads, thinks, and writes: right for one buyer at a time. False if sold out.
    pub(crate) async fn buy(&self) -> sqlx::Result<bool> {
        if self.stock().await? <= 0 {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(10..40))).await;
        let mut tx = self.db.begin().await?;
        sqlx::query("UPDATE item SET stock = stock - 1")
            .execute(&mut *tx)
            .await?;
        sqlx::query("INSERT INTO orders DEFAULT VALUES")
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(true)
    }

    pub(crate) async fn stock(&self) -> sqlx::Result<i64> {
        sqlx::query_scalar("SELECT stock FROM item")
            .fetch_one(&self.db)
            .await
    }

    pub(crate) async fn sold(&self) -> sqlx::Result<i64> {
        sqlx::query_scalar("SELECT count(*) FROM orders")
            .fetch_one(&self.db)
            .await
    }
}
