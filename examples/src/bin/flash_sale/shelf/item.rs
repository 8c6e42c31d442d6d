use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use leasehold_sqlx::Error;

use crate::error::ShopError;

/// The tables of the shop.
#[async_trait]
pub(crate) trait Tables: fmt::Debug + Send + Sync {
    /// Creates missing tables.
    async fn set_up(&self) -> Result<(), ShopError>;

    /// Sets the stock, and deletes all orders.
    async fn stock_up(&self, item: i64, stock: i64) -> Result<(), ShopError>;

    async fn count(&self, item: i64) -> Result<Count, ShopError>;

    /// Returns the shelf, with a plain pool or a fenced one.
    fn shelf(&self, fenced: bool) -> Result<Arc<dyn Shelf>, Error>;

    /// Returns a shelf whose pool waits for `stall` before its second transaction.
    fn stalling_shelf(&self, fenced: bool, stall: Stall) -> Result<Arc<dyn Shelf>, Error>;
}

/// The stock and the orders, for purchases.
#[async_trait]
pub(crate) trait Shelf: fmt::Debug + Send + Sync {
    /// Reads the stock, if there is such an item.
    async fn stock(&self, item: i64) -> Result<Option<i64>, Error>;

    /// Takes one item from the stock and adds one order.
    async fn take(&self, item: i64) -> Result<(), Error>;
}

/// What a simulated stall waits for.
pub(crate) type Stall = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The stock and the number of orders of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Count {
    pub(crate) stock: i64,
    pub(crate) sold: i64,
}
