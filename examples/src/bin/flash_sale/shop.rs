use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{LockManager, distributed_lock};
use leasehold_sqlx::Error;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use crate::error::ShopError;
use crate::ledger::{End, Ledger};
use crate::locking::Locking;
use crate::shelf::{Shelf, Tables};

/// How long a lock stays held after its process is killed. During a purchase the lock is renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// A purchase waits for at most this many times its own duration. After that it is refused, and the client can retry.
const PATIENCE: u32 = 15;

/// One instance of the shop. A purchase reads the stock, waits a moment, and writes.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) name: String,
    pub(crate) locks: LockManager,
    tables: Arc<dyn Tables>,
    plain: Arc<dyn Shelf>,
    fenced: Arc<dyn Shelf>,
    pub(crate) ledger: Arc<Ledger>,
    /// The mutex of a shop that was written for one instance.
    turn: Mutex<()>,
}

impl Shop {
    pub(crate) fn new(
        name: &str,
        locks: LockManager,
        tables: Arc<dyn Tables>,
    ) -> Result<Self, Error> {
        Ok(Self {
            name: name.to_owned(),
            locks,
            plain: tables.shelf(false)?,
            fenced: tables.shelf(true)?,
            tables,
            ledger: Arc::default(),
            turn: Mutex::default(),
        })
    }

    pub(crate) async fn buy(
        &self,
        locking: Locking,
        item: i64,
        thinking: Duration,
    ) -> Result<End, ShopError> {
        match locking {
            Locking::Nothing => self.read_think_write(&*self.plain, item, thinking).await,
            Locking::EachInstance => {
                let _turn = self.turn.lock().await;
                self.read_think_write(&*self.plain, item, thinking).await
            }
            Locking::Unfenced => self.sell(&*self.plain, item, thinking).await,
            Locking::Leasehold => self.sell(&*self.fenced, item, thinking).await,
        }
    }

    /// Sells one item, on one instance at a time. Leasehold only needs the attribute, and the fenced pool of the shelf.
    #[distributed_lock("stock:{item}", manager = self.locks, ttl = LEASE, wait = PATIENCE * thinking)]
    async fn sell(
        &self,
        shelf: &dyn Shelf,
        item: i64,
        thinking: Duration,
    ) -> Result<End, ShopError> {
        self.read_think_write(shelf, item, thinking).await
    }

    /// Simulates a holder whose machine stalls for longer than its lease, before its write is sent. Then it continues
    /// without noticing. It stalls until the item is sold out, but at most as long as given.
    pub(crate) async fn sell_late(
        &self,
        locking: Locking,
        item: i64,
        most: Duration,
    ) -> Result<End, ShopError> {
        let lock = self.locks.lock(format!("stock:{item}"));
        let guard = lock
            .ttl(LEASE)
            .without_renewal()
            .wait(most)
            .acquire()
            .await?;
        let tables = Arc::clone(&self.tables);
        let stall = move || {
            let tables = Arc::clone(&tables);
            let sold_out = async move {
                while tables.count(item).await.is_ok_and(|it| it.stock > 0) {
                    sleep(Duration::from_millis(20)).await;
                }
            };
            timeout(most, sold_out).map(drop).boxed()
        };
        let is_fenced = locking == Locking::Leasehold;
        let shelf = self.tables.stalling_shelf(is_fenced, Box::new(stall))?;
        let sale = self.read_think_write(&*shelf, item, Duration::ZERO);
        guard.handle().scope(sale).await
    }

    /// Runs a purchase. This is only correct for one purchase at a time.
    async fn read_think_write(
        &self,
        shelf: &dyn Shelf,
        item: i64,
        thinking: Duration,
    ) -> Result<End, ShopError> {
        let entry = self.ledger.enter();
        let sold = async {
            let stock = shelf.stock(item).await?;
            if stock.ok_or(ShopError::NoSuchItem(item))? <= 0 {
                return Ok(End::SoldOut);
            }
            sleep(thinking).await;
            shelf.take(item).await?;
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

#[cfg(test)]
mod tests {
    use leasehold::chaos::{Chaos, ChaosTest};
    use sqlx::sqlite::SqlitePoolOptions;

    use super::*;

    /// Two items, in a database in memory. A paused instance may keep a connection.
    async fn tables() -> Result<Arc<dyn Tables>, ShopError> {
        let pool = SqlitePoolOptions::new()
            .min_connections(4)
            .max_connections(4);
        let pool = pool.connect("sqlite::memory:").await.map_err(Error::from)?;
        pool.set_up().await?;
        pool.stock_up(1, 2).await?;
        Ok(Arc::new(pool))
    }

    /// Three instances sell one item each.
    async fn stock_is_not_oversold(chaos: Chaos, locking: Locking) {
        let tables = chaos.outside(tables()).await.unwrap();
        let buy = async |locks| {
            let shop = Shop::new("A", locks, Arc::clone(&tables)).unwrap();
            shop.buy(locking, 1, Duration::from_millis(20)).await
        };
        let ends = chaos.clients(3, buy).await;
        let sold = ends.iter().flatten().flatten();
        let sold = sold.filter(|end| **end == End::Sold).count();
        let count = tables.count(1).await.unwrap();
        assert!(
            count.sold <= 2 && count.sold + count.stock == 2,
            "{count:?}"
        );
        assert!(
            usize::try_from(count.sold).unwrap() >= sold,
            "{sold} sold, {count:?}"
        );
    }

    #[leasehold::chaos_test]
    async fn instances_with_leasehold_do_not_oversell_despite_faults(chaos: Chaos) {
        stock_is_not_oversold(chaos, Locking::Leasehold).await;
    }

    /// The control.
    #[test]
    fn instances_with_a_mutex_oversell() {
        let test = ChaosTest::new();
        let check = test.check(async |chaos| {
            stock_is_not_oversold(chaos, Locking::EachInstance).await;
        });
        assert_eq!(check.unwrap_err().replay().unwrap(), "0/calm");
    }
}
