//! The statements, which differ between the databases only in their placeholders.

use std::sync::Arc;

use async_trait::async_trait;
use leasehold_sqlx::{Error, FencedDatabase, FencedPool, ddl};
use sqlx::{MySql, Pool, Postgres, Sqlite};

use super::item::{Count, Shelf, Stall, Tables};
use super::open::stalling;
use crate::error::ShopError;

const TABLES: [&str; 2] = ["flash_sale_items", "flash_sale_orders"];

/// Returns a pool that fences every write. A purchase holds two locks: the pool uses the one of the stock.
fn fenced<DB: FencedDatabase>(mut pool: FencedPool<DB>) -> Result<FencedPool<DB>, Error> {
    for table in TABLES {
        pool = pool.map_table(table, "stock:*")?;
    }
    Ok(pool)
}

/// The code of a purchase is the same with a plain pool. With [`FencedPool`], `begin` claims the stock for the lock that
/// the task holds: from then on, the database refuses older holders.
macro_rules! shelf {
    ($pool:ty, $one:literal) => {
        #[async_trait]
        impl Shelf for $pool {
            async fn stock(&self, item: i64) -> Result<Option<i64>, Error> {
                const STOCK: &str = concat!("SELECT stock FROM flash_sale_items WHERE id = ", $one);
                let mut tx = self.begin().await?;
                let stock = sqlx::query_scalar(STOCK).bind(item);
                let stock = stock.fetch_optional(&mut *tx).await?;
                tx.commit().await?;
                Ok(stock)
            }

            async fn take(&self, item: i64) -> Result<(), Error> {
                let mut tx = self.begin().await?;
                for statement in [
                    concat!(
                        "UPDATE flash_sale_items SET stock = stock - 1 WHERE id = ",
                        $one
                    ),
                    concat!("INSERT INTO flash_sale_orders (item) VALUES (", $one, ")"),
                ] {
                    sqlx::query(statement).bind(item).execute(&mut *tx).await?;
                }
                Ok(tx.commit().await?)
            }
        }
    };
}

macro_rules! tables {
    ($database:ty, $one:literal, $two:literal) => {
        shelf!(Pool<$database>, $one);
        shelf!(FencedPool<$database>, $one);

        #[async_trait]
        impl Tables for Pool<$database> {
            async fn set_up(&self) -> Result<(), ShopError> {
                for table in [
                    "CREATE TABLE IF NOT EXISTS flash_sale_items (id BIGINT PRIMARY KEY, stock BIGINT NOT NULL)",
                    "CREATE TABLE IF NOT EXISTS flash_sale_orders (item BIGINT NOT NULL)",
                ] {
                    sqlx::query(table).execute(self).await?;
                }
                for table in TABLES {
                    ddl::add_column(self, table).await?;
                }
                Ok(ddl::create_fences(self).await?)
            }

            async fn stock_up(&self, item: i64, stock: i64) -> Result<(), ShopError> {
                let mut tx = self.begin().await?;
                for emptied in [
                    concat!("DELETE FROM flash_sale_orders WHERE item = ", $one),
                    concat!("DELETE FROM flash_sale_items WHERE id = ", $one),
                ] {
                    sqlx::query(emptied).bind(item).execute(&mut *tx).await?;
                }
                let filled = concat!(
                    "INSERT INTO flash_sale_items (id, stock) VALUES (", $one, ", ", $two, ")"
                );
                let filled = sqlx::query(filled).bind(item).bind(stock);
                filled.execute(&mut *tx).await?;
                Ok(tx.commit().await?)
            }

            async fn count(&self, item: i64) -> Result<Count, ShopError> {
                const COUNT: &str = concat!(
                    "SELECT stock, (SELECT count(*) FROM flash_sale_orders WHERE item = ", $one,
                    ") FROM flash_sale_items WHERE id = ", $two
                );
                let count = sqlx::query_as(COUNT).bind(item).bind(item);
                let count = count.fetch_optional(self).await?;
                let (stock, sold) = count.ok_or(ShopError::NoSuchItem(item))?;
                Ok(Count { stock, sold })
            }

            fn shelf(&self, is_fenced: bool) -> Result<Arc<dyn Shelf>, Error> {
                Ok(match is_fenced {
                    true => Arc::new(fenced(FencedPool::new(self.clone()))?),
                    false => Arc::new(self.clone()),
                })
            }

            fn stalling_shelf(&self, is_fenced: bool, stall: Stall) -> Result<Arc<dyn Shelf>, Error> {
                stalling(self, stall).shelf(is_fenced)
            }
        }
    };
}

tables!(Postgres, "$1", "$2");
tables!(MySql, "?", "?");
tables!(Sqlite, "?", "?");
