//! The statements, which differ between the databases only in their placeholders.

use async_trait::async_trait;
use leasehold_sqlx::{Fence, ddl};
use sqlx::{Database, MySql, Pool, Postgres, Sqlite, Transaction};

use super::item::{Count, Shelf};
use crate::error::ShopError;

#[derive(Debug)]
pub(super) struct Table<DB: Database> {
    pool: Pool<DB>,
}

impl<DB: Database> Table<DB> {
    pub(super) const fn new(pool: Pool<DB>) -> Self {
        Self { pool }
    }
}

/// Returns the name of an item's fence.
fn resource(item: i64) -> String {
    format!("flash_sale:stock:{item}")
}

macro_rules! shelf {
    ($database:ty, $one:literal, $two:literal) => {
        impl Table<$database> {
            /// Begins a transaction. With a fence, it claims the resource first, and fails if there is a newer token.
            async fn begin(
                &self,
                item: i64,
                fence: Option<&Fence>,
            ) -> Result<Transaction<'static, $database>, ShopError> {
                Ok(match fence {
                    Some(fence) => fence.begin(&self.pool, resource(item)).await?,
                    None => self.pool.begin().await?,
                })
            }
        }

        #[async_trait]
        impl Shelf for Table<$database> {
            async fn set_up(&self) -> Result<(), ShopError> {
                ddl::create_fences(&self.pool).await?;
                for table in [
                    "CREATE TABLE IF NOT EXISTS flash_sale_items (id BIGINT PRIMARY KEY, stock BIGINT NOT NULL)",
                    "CREATE TABLE IF NOT EXISTS flash_sale_orders (item BIGINT NOT NULL)",
                ] {
                    sqlx::query(table).execute(&self.pool).await?;
                }
                Ok(())
            }

            async fn stock_up(&self, item: i64, stock: i64) -> Result<(), ShopError> {
                let mut tx = self.pool.begin().await?;
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
                let count = count.fetch_optional(&self.pool).await?;
                let (stock, sold) = count.ok_or(ShopError::NoSuchItem(item))?;
                Ok(Count { stock, sold })
            }

            async fn stock(&self, item: i64, fence: Option<&Fence>) -> Result<i64, ShopError> {
                const STOCK: &str =
                    concat!("SELECT stock FROM flash_sale_items WHERE id = ", $one);
                let mut tx = self.begin(item, fence).await?;
                let stock = sqlx::query_scalar(STOCK).bind(item);
                let stock = stock.fetch_optional(&mut *tx).await?;
                tx.commit().await?;
                stock.ok_or(ShopError::NoSuchItem(item))
            }

            async fn take(&self, item: i64, fence: Option<&Fence>) -> Result<(), ShopError> {
                let mut tx = self.begin(item, fence).await?;
                for statement in [
                    concat!("UPDATE flash_sale_items SET stock = stock - 1 WHERE id = ", $one),
                    concat!("INSERT INTO flash_sale_orders (item) VALUES (", $one, ")"),
                ] {
                    sqlx::query(statement).bind(item).execute(&mut *tx).await?;
                }
                Ok(tx.commit().await?)
            }
        }
    };
}

shelf!(Postgres, "$1", "$2");
shelf!(MySql, "?", "?");
shelf!(Sqlite, "?", "?");
