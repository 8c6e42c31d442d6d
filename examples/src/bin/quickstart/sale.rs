use std::error::Error;
use std::time::Duration;

use leasehold::LockManager;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::report;
use crate::shop::Shop;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

pub(crate) const BUYERS: u32 = 20;
pub(crate) const DURATION: Duration = Duration::from_secs(3);

/// How long the lock stays taken if its buyer's process dies. Renewed for as long as the purchase takes.
const TTL: Duration = Duration::from_secs(10);

/// How a sale went.
#[derive(Debug)]
pub(crate) struct Sale {
    pub(crate) name: &'static str,
    pub(crate) asked: u64,
    pub(crate) sold: i64,
    pub(crate) stock: i64,
}

impl Sale {
    /// Lets all buyers in until the time is over.
    pub(crate) async fn hold(
        name: &'static str,
        shop: Shop,
        locks: Option<LockManager>,
    ) -> Result<Self, BoxError> {
        report::sale_opens(name);
        let end = Instant::now() + DURATION;
        let mut buyers = JoinSet::new();
        for buyer in 0..BUYERS {
            buyers.spawn(shopping(buyer, shop.clone(), locks.clone(), end));
        }
        let progress = tokio::spawn(report::progress(shop.clone(), end));
        let mut asked = 0;
        while let Some(buyer) = buyers.join_next().await {
            asked += buyer??;
        }
        progress.await??;
        Ok(Self {
            name,
            asked,
            sold: shop.sold().await?,
            stock: shop.stock().await?,
        })
    }
}

/// One buyer asks again and again. Answers how often.
async fn shopping(
    buyer: u32,
    shop: Shop,
    locks: Option<LockManager>,
    end: Instant,
) -> Result<u64, BoxError> {
    let mut asked = 0;
    while Instant::now() < end {
        asked += 1;
        let bought = match &locks {
            Some(locks) => locked_purchase(buyer, &shop, locks).await?,
            None => shop.buy(buyer).await?,
        };
        if !bought {
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(asked)
}

/// The same purchase, one buyer at a time. This is all that Leasehold asks for.
async fn locked_purchase(buyer: u32, shop: &Shop, locks: &LockManager) -> Result<bool, BoxError> {
    let guard = locks.lock("item:1").ttl(TTL).acquire().await?;
    let bought = guard.run(shop.buy(buyer)).await??;
    guard.release().await?;
    Ok(bought)
}
