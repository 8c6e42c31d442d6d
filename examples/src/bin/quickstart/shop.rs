use std::time::Duration;

use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

/// How many items are for sale.
pub(crate) const STOCK: i64 = 10;

/// A shop with one product, in a database in memory.
#[derive(Debug, Clone)]
pub(crate) struct Shop {
    db: SqlitePool,
}

impl Shop {
    pub(crate) async fn open() -> sqlx::Result<Self> {
        let db = SqlitePoolOptions::new()
            .max_connections(1)
            .connect("sqlite::memory:")
            .await?;
        sqlx::query("CREATE TABLE item (stock INTEGER NOT NULL)")
            .execute(&db)
            .await?;
        sqlx::query("CREATE TABLE orders (buyer INTEGER NOT NULL)")
            .execute(&db)
            .await?;
        sqlx::query("INSERT INTO item VALUES (?)")
            .bind(STOCK)
            .execute(&db)
            .await?;
        Ok(Self { db })
    }

    /// Reads, thinks, and writes: right for one buyer at a time. False if sold out.
    pub(crate) async fn buy(&self, buyer: u32) -> sqlx::Result<bool> {
        if self.stock().await? <= 0 {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(10..40))).await;
        sqlx::query("UPDATE item SET stock = stock - 1")
            .execute(&self.db)
            .await?;
        sqlx::query("INSERT INTO orders VALUES (?)")
            .bind(buyer)
            .execute(&self.db)
            .await?;
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
