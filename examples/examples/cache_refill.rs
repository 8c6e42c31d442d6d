//! A cache that many read and one refills.
//!
//! Readers share the lock. Who finds the cache empty becomes its writer, looks again, fills it, and goes on as a reader
//! without letting anybody in between. However many come at once, the slow source is asked once.
//!
//! Run it with `cargo run --example cache_refill`; with `-- redis://127.0.0.1` the lock is there (and the cache would be,
//! too: here a value in memory stands for it). Try: leave out the second look, and count again.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

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
        let reader = self.locks.read_lock("prices").acquire().await?;
        if let Some(prices) = self.cached().await {
            return Ok(prices);
        }
        // There is no way up from reader to writer: two who want it would wait for each other.
        reader.release().await?;
        let writer = self.locks.lock("prices").acquire().await?;
        let prices = match self.cached().await {
            Some(prices) => prices,
            None => writer.run(self.refill()).await?,
        };
        // Those who wait to read are let in at once, and nobody writes meanwhile.
        let _reader = writer.downgrade().await?;
        Ok(prices)
    }

    /// As quick as a look into a cache elsewhere.
    async fn cached(&self) -> Option<Arc<str>> {
        sleep(Duration::from_millis(1)).await;
        self.cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Slow, and not to be asked twice.
    async fn refill(&self) -> Arc<str> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(200)).await;
        let prices: Arc<str> = "apples 3, pears 4".into();
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(prices.clone());
        prices
    }
}

/// Answers how often the source was asked.
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
    println!("50 customers know the prices; the source was asked {asked} time(s).");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_source_is_asked_once() {
        let prices = Arc::new(Prices::new(LockManager::in_process()));
        assert_eq!(rush(Arc::clone(&prices), 50).await.unwrap(), 1);
        assert_eq!(rush(prices, 50).await.unwrap(), 1, "it is filled");
    }
}
