use std::fmt;

use async_trait::async_trait;
use leasehold_sqlx::Fence;

use crate::error::ShopError;

/// The stock and the orders.
#[async_trait]
pub(crate) trait Shelf: fmt::Debug + Send + Sync {
    /// Creates missing tables.
    async fn set_up(&self) -> Result<(), ShopError>;

    /// Sets the stock, and deletes all orders.
    async fn stock_up(&self, item: i64, stock: i64) -> Result<(), ShopError>;

    async fn count(&self, item: i64) -> Result<Count, ShopError>;

    /// Reads the stock. With a fence, writes of older holders are refused after this read.
    async fn stock(&self, item: i64, fence: Option<&Fence>) -> Result<i64, ShopError>;

    /// Takes one item from the stock and adds one order. With a fence, fails if a newer holder has read or written.
    async fn take(&self, item: i64, fence: Option<&Fence>) -> Result<(), ShopError>;
}

/// The stock and the number of orders of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Count {
    pub(crate) stock: i64,
    pub(crate) sold: i64,
}
