//! The data that the lock protects.

use leasehold::FencingToken;
use leasehold_sqlx::{Error, Fence, ddl};
use sqlx::Executor;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

/// One order, in a database that is independent of Redis.
#[derive(Debug)]
pub(crate) struct Orders {
    db: SqlitePool,
}

impl Orders {
    pub(crate) async fn open() -> Result<Self, Error> {
        // One connection, because each connection has its own in-memory database.
        let options = SqlitePoolOptions::new().max_connections(1);
        let db = options.connect("sqlite::memory:").await?;
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT NOT NULL)")
            .await?;
        db.execute("INSERT INTO orders VALUES (42, 'packed')")
            .await?;
        ddl::add_column(&db, "orders").await?;
        Ok(Self { db })
    }

    /// Sets the state. Fails if a newer holder has written.
    pub(crate) async fn set(&self, state: &str, token: FencingToken) -> Result<(), Error> {
        Fence::new(token)
            .query("UPDATE orders SET state = ? WHERE id = 42")
            .bind(state)
            .execute(&self.db)
            .await?;
        Ok(())
    }

    pub(crate) async fn state(&self) -> sqlx::Result<String> {
        sqlx::query_scalar("SELECT state FROM orders WHERE id = 42")
            .fetch_one(&self.db)
            .await
    }
}
