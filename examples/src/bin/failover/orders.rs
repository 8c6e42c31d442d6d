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
        // The connections share the database, which exists as long as one of them is open.
        let options = SqlitePoolOptions::new()
            .min_connections(4)
            .max_connections(4);
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

#[cfg(test)]
mod tests {
    use leasehold::LockManager;
    use leasehold::chaos::Chaos;

    use super::*;

    /// Each client writes its token as the state. The error of a late write is correct.
    #[leasehold::chaos_test]
    async fn older_holder_does_not_overwrite_a_confirmed_state_despite_faults(chaos: Chaos) {
        let orders = chaos.outside(Orders::open()).await.unwrap();
        let write = async |locks: LockManager| {
            let guard = locks.lock("order:42").acquire().await?;
            let token = guard.token();
            tokio::task::yield_now().await;
            orders.set(&token.to_string(), token).await?;
            Ok::<_, Error>(token.get())
        };
        let ends = chaos.clients(3, write).await;
        let newest = ends.into_iter().flatten().flatten().max();
        let state: i64 = orders.state().await.unwrap().parse().unwrap_or_default();
        assert!(
            newest.is_none_or(|newest| newest <= state),
            "{newest:?}, {state}"
        );
    }
}
