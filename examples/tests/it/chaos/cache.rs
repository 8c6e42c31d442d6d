//! A cache that is filled late with an old value.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use leasehold::chaos::Chaos;
use leasehold::{Error, FencingToken, LockManager};
use tokio::time::sleep;

use crate::chaos::{found, passes};

/// A database and its cache. The cache can compare tokens.
#[derive(Default)]
struct Prices {
    stored: Cell<u32>,
    cached: RefCell<Option<u32>>,
    newest: Cell<Option<FencingToken>>,
}

impl Prices {
    /// Writes to the cache, unless a newer holder has written before.
    async fn cache(&self, token: Option<FencingToken>, value: Option<u32>) {
        sleep(Duration::from_millis(1)).await;
        if token.is_none() || token >= self.newest.get() {
            self.newest.set(token);
            *self.cached.borrow_mut() = value;
        }
    }
}

/// Fills the cache. `compares` is false in the code with the mistake.
async fn fill(locks: &LockManager, prices: &Prices, compares: bool) -> Result<(), Error> {
    let guard = locks.lock("prices").acquire().await?;
    let token = compares.then(|| guard.token());
    let read = prices.stored.get();
    sleep(Duration::from_millis(10)).await;
    prices.cache(token, Some(read)).await;
    guard.release().await
}

/// Empties the cache, and then changes the price.
async fn change(locks: &LockManager, prices: &Prices, compares: bool) -> Result<(), Error> {
    let guard = locks.lock("prices").acquire().await?;
    let token = compares.then(|| guard.token());
    prices.cache(token, None).await;
    prices.stored.set(2);
    guard.release().await
}

async fn cache_is_right(chaos: Chaos, compares: bool) {
    let prices = Prices::default();
    tokio::join!(
        chaos.client(async |locks| fill(&locks, &prices, compares).await),
        chaos.client(async |locks| change(&locks, &prices, compares).await),
    );
    let (cached, stored) = (*prices.cached.borrow(), prices.stored.get());
    assert!(
        cached.is_none_or(|it| it == stored),
        "{cached:?} in the cache, {stored} stored"
    );
}

#[test]
fn cache_that_is_filled_late_is_found() {
    found(async |chaos| cache_is_right(chaos, false).await);
}

#[test]
fn cache_that_compares_tokens_passes() {
    passes(async |chaos| cache_is_right(chaos, true).await);
}
