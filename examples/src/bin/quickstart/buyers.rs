use std::time::Duration;

use leasehold::LockManager;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::BoxError;
use crate::shop::Shop;

pub(crate) const BUYERS: u32 = 20;
pub(crate) const DURATION: Duration = Duration::from_secs(3);

/// How long the lock stays taken if its buyer's process dies. It is renewed for as long as a purchase takes.
const TTL: Duration = Duration::from_secs(1);

/// The same purchase, one buyer at a time. This is all that Leasehold asks for.
async fn locked_purchase(shop: &Shop, locks: &LockManager) -> Result<bool, BoxError> {
    let guard = locks.lock("item:1").ttl(TTL).acquire().await?;
    let bought = guard.run(shop.buy()).await??;
    guard.release().await?;
    Ok(bought)
}

/// Lets `buyers` in until the time is over. Answers how often they asked.
pub(crate) async fn shop(
    buyers: u32,
    shop: &Shop,
    locks: Option<&LockManager>,
) -> Result<u64, BoxError> {
    let end = Instant::now() + DURATION;
    let mut tasks = JoinSet::new();
    for _ in 0..buyers {
        tasks.spawn(shopping(shop.clone(), locks.cloned(), end));
    }
    let mut asked = 0;
    while let Some(buyer) = tasks.join_next().await {
        asked += buyer??;
    }
    Ok(asked)
}

/// One buyer asks again and again.
async fn shopping(shop: Shop, locks: Option<LockManager>, end: Instant) -> Result<u64, BoxError> {
    let mut asked = 0;
    while Instant::now() < end {
        asked += 1;
        let bought = match &locks {
            Some(locks) => locked_purchase(&shop, locks).await?,
            None => shop.buy().await?,
        };
        if !bought {
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(asked)
}
