use std::fmt;

use async_trait::async_trait;
use leasehold_sqlx::Fence;

use crate::error::ShopError;

/// What there is to sell, and who has bought.
#[async_trait]
pub(crate) trait Shelf: fmt::Debug + Send + Sync {
    /// Makes the tables that are not there.
    async fn set_up(&self) -> Result<(), ShopError>;

    /// So much stock, and no orders.
    async fn stock_up(&self, item: i64, stock: i64) -> Result<(), ShopError>;

    async fn count(&self, item: i64) -> Result<Count, ShopError>;

    /// Reads the stock. Under a fence, writes of older holders are refused from here on.
    async fn stock(&self, item: i64, fence: Option<&Fence>) -> Result<i64, ShopError>;

    /// One item fewer, and one order more. Under a fence, only if nobody newer has been there.
    async fn take(&self, item: i64, fence: Option<&Fence>) -> Result<(), ShopError>;
}

/// What an item has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Count {
    pub(crate) stock: i64,
    pub(crate) sold: i64,
}
