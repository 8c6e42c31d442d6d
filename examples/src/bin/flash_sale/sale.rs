use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::sleep;

use crate::clients;
use crate::deployment::{Deployment, ITEM, STOCK};
use crate::error::BoxError;
use crate::locking::Locking;
use crate::progress;
use crate::shelf::Count;

/// An instance is killed when this many items are sold.
const KILLED_AT: i64 = STOCK / 3;

/// The result of a sale.
#[derive(Debug)]
pub(crate) struct Sale {
    pub(crate) locking: Locking,
    pub(crate) asked: u64,
    pub(crate) count: Count,
}

impl Sale {
    /// Restocks the shop, and runs all clients until the time is over.
    pub(crate) async fn hold(
        shop: &Deployment,
        front: SocketAddr,
        locking: Locking,
        open: Duration,
        kill: bool,
    ) -> Result<Self, BoxError> {
        progress::sale_opens(locking);
        shop.shelf.stock_up(ITEM, STOCK).await?;
        let progress = progress::show(&shop.shelf, open);
        let killing = async {
            match kill {
                true => kill_midway(shop).await,
                false => Ok(()),
            }
        };
        let shopping = clients::shop(front, ITEM, locking, open);
        let (asked, (), ()) = tokio::try_join!(shopping, progress, killing)?;
        Ok(Self {
            locking,
            asked,
            count: shop.shelf.count(ITEM).await?,
        })
    }

    pub(crate) fn is_right(&self) -> bool {
        let Count { stock, sold } = self.count;
        sold == STOCK && stock == 0
    }
}

async fn kill_midway(shop: &Deployment) -> Result<(), BoxError> {
    while shop.shelf.count(ITEM).await?.sold < KILLED_AT {
        sleep(Duration::from_millis(5)).await;
    }
    let [victim, _] = &shop.front.backends;
    if victim.kill()? {
        let sold = shop.shelf.count(ITEM).await?.sold;
        progress::killed(victim.name, sold);
    }
    Ok(())
}
