//! A cache with many readers and one writer that refills it.
//!
//! Readers share the lock. A reader that finds the cache empty acquires the lock as a writer, checks the cache again,
//! fills it, and downgrades to a reader. No other writer can get the lock in between. So the slow source is queried
//! only once, even with many concurrent readers.
//!
//! Run it with `cargo run --example cache_refill`. Add `-- redis://127.0.0.1` to use Redis for the lock (the cache is a
//! value in memory here). Try: remove the second check of the cache, and count again.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{Error, LockManager};
use tokio::task::JoinSet;
use tokio::time::sleep;

#[derive(Debug)]
struct Prices {
    locks: LockManager,
    cached: Mutex<Option<Arc<str>>>,
    asked: AtomicU32,
}

impl Prices {
    fn new(locks: LockManager) -> Self {
        let (cached, asked) = (Mutex::default(), AtomicU32::new(0));
        Self {
            locks,
            cached,
            asked,
        }
    }

    async fn get(&self) -> Result<Arc<str>, Error> {
        let reader = self.locks.rw_lock("prices").read().acquire().await?;
        if let Some(prices) = self.cached().await {
            return Ok(prices);
        }
        // A reader cannot become a writer: two such readers would deadlock.
        reader.release().await?;
        let writer = self.locks.lock("prices").acquire().await?;
        let prices = match self.cached().await {
            Some(prices) => prices,
            None => {
                writer
                    .run(async |_| Ok::<_, Error>(self.refill().await))
                    .await?
            }
        };
        // Waiting readers get the lock immediately, and no writer can get it in between.
        let _reader = writer.downgrade().await?;
        Ok(prices)
    }

    /// Simulates the latency of a remote cache.
    async fn cached(&self) -> Option<Arc<str>> {
        sleep(Duration::from_millis(1)).await;
        self.cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Queries the slow source, which should run only once.
    async fn refill(&self) -> Arc<str> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(200)).await;
        let prices: Arc<str> = "apples 3, pears 4".into();
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(prices.clone());
        prices
    }
}

/// Returns how often the source was queried.
async fn rush(prices: Arc<Prices>, customers: usize) -> Result<u32, Error> {
    let mut reading = JoinSet::new();
    for _ in 0..customers {
        let prices = Arc::clone(&prices);
        reading.spawn(async move { prices.get().await });
    }
    for read in reading.join_all().await {
        assert_eq!(&*read?, "apples 3, pears 4");
    }
    Ok(prices.asked.load(Ordering::Relaxed))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let locks = match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    };
    let asked = rush(Arc::new(Prices::new(locks)), 50).await?;
    println!("50 customers got the prices; the source was queried {asked} time(s).");
    Ok(())
}

#[cfg(test)]
mod tests {
    use leasehold::chaos::Chaos;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn source_is_queried_once() {
        let prices = Arc::new(Prices::new(LockManager::in_process()));
        assert_eq!(rush(Arc::clone(&prices), 50).await.unwrap(), 1);
        assert_eq!(rush(prices, 50).await.unwrap(), 1, "the cache is filled");
    }

    #[leasehold::chaos_test]
    async fn customers_get_the_prices_or_an_error_despite_faults(chaos: Chaos) {
        let rush = async |locks| rush(Arc::new(Prices::new(locks)), 5).await;
        // `rush` checks the prices.
        if let Some(Ok(asked)) = chaos.client(rush).await {
            assert_eq!(asked, 1);
        }
    }
}
