use std::sync::Arc;
use std::time::Duration;

use leasehold::{LockManager, distributed_lock};
use leasehold_sqlx::{Error, Fence};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::error::ShopError;
use crate::ledger::{End, Ledger};
use crate::shelf::Shelf;

/// How long a lock stays held after its process is killed. During a purchase the lock is renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// A purchase waits for at most this many times its own duration. After that it is refused, and the client can retry.
const PATIENCE: u32 = 15;

/// One instance of the shop. A purchase reads the stock, waits a moment, and writes.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) name: String,
    pub(crate) locks: LockManager,
    pub(crate) shelf: Arc<dyn Shelf>,
    pub(crate) ledger: Arc<Ledger>,
    /// The mutex of a shop that was written for one instance.
    turn: Mutex<()>,
}

impl Shop {
    pub(crate) fn new(name: &str, locks: LockManager, shelf: Arc<dyn Shelf>) -> Self {
        Self {
            name: name.to_owned(),
            locks,
            shelf,
            ledger: Arc::default(),
            turn: Mutex::default(),
        }
    }

    /// Sells one item, on one instance at a time. Leasehold only needs the attribute and the fence.
    #[distributed_lock("stock:{item}", manager = self.locks, ttl = LEASE, wait = PATIENCE * thinking, guard = lock)]
    pub(crate) async fn sell(&self, item: i64, thinking: Duration) -> Result<End, ShopError> {
        let fence = Fence::new(lock.token());
        self.read_think_write(item, thinking, Some(&fence)).await
    }

    /// Sells one item, one at a time in this instance.
    pub(crate) async fn sell_in_turn(
        &self,
        item: i64,
        thinking: Duration,
    ) -> Result<End, ShopError> {
        let _turn = self.turn.lock().await;
        self.read_think_write(item, thinking, None).await
    }

    pub(crate) async fn sell_unlocked(
        &self,
        item: i64,
        thinking: Duration,
    ) -> Result<End, ShopError> {
        self.read_think_write(item, thinking, None).await
    }

    /// Simulates a holder whose machine stalls for longer than its lease, and which then continues without noticing.
    pub(crate) async fn sell_late(&self, item: i64, stall: Duration) -> Result<End, ShopError> {
        let lock = self.locks.lock(format!("stock:{item}"));
        let lock = lock.ttl(LEASE).without_renewal().wait(stall);
        let guard = lock.acquire().await?;
        let fence = Fence::new(guard.token());
        self.read_think_write(item, stall, Some(&fence)).await
    }

    /// Runs a purchase. This is only correct for one purchase at a time.
    async fn read_think_write(
        &self,
        item: i64,
        thinking: Duration,
        fence: Option<&Fence>,
    ) -> Result<End, ShopError> {
        let entry = self.ledger.enter(fence.map(Fence::token));
        let sold = async {
            if self.shelf.stock(item, fence).await? <= 0 {
                return Ok(End::SoldOut);
            }
            sleep(thinking).await;
            self.shelf.take(item, fence).await?;
            Ok(End::Sold)
        };
        let sold = sold.await;
        match &sold {
            Ok(end) => entry.end(*end),
            Err(ShopError::Write(Error::Stale(_))) => entry.end(End::Refused),
            Err(_) => {}
        }
        sold
    }
}
