//! Tests of your own code, in process: without a server, and without waiting.
//!
//! `LockManager::in_process()` gives each test its own locks. They use tokio's clock, which a test can pause, so that
//! ten seconds pass immediately. There are two ways to test a lost lock. If the test has the guard, call
//! `guard.simulate_loss()`, with the feature `test-util`. If the tested code has the guard, call `force_release`.
//!
//! Run it with `cargo test --example own_tests`. Try: remove `guard.run` from `ship`, and see which test fails.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use leasehold::{Error, LockManager};
use tokio::time::sleep;

/// The tested code. Ships an order in ten seconds, one call at a time.
async fn ship(locks: &LockManager) -> Result<&'static str, Error> {
    let lock = locks.lock("order:42").ttl(Duration::from_secs(15));
    let guard = lock.wait(Duration::from_secs(30)).acquire().await?;
    let shipped = guard.run(async |_| packing().await).await?;
    guard.release().await?;
    Ok(shipped)
}

async fn packing() -> Result<&'static str, Error> {
    sleep(Duration::from_secs(10)).await;
    Ok("shipped")
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    println!(
        "{}; the tests are faster",
        ship(&LockManager::in_process()).await?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use leasehold::Error;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn concurrent_calls_ship_one_after_the_other() {
        let (locks, begin) = (LockManager::in_process(), Instant::now());
        let shipped = tokio::try_join!(ship(&locks), ship(&locks)).unwrap();
        assert_eq!(shipped, ("shipped", "shipped"));
        assert_eq!(begin.elapsed().as_secs(), 20, "on the paused clock");
    }

    #[tokio::test(start_paused = true)]
    async fn ship_times_out_if_the_lock_stays_busy() {
        let locks = LockManager::in_process();
        let _held = locks.lock("order:42").acquire().await.unwrap();
        let refused = ship(&locks).await;
        assert!(matches!(refused, Err(Error::TimedOut { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn forced_release_ends_the_work() {
        let locks = LockManager::in_process();
        let operator = async {
            sleep(Duration::from_secs(1)).await;
            locks.force_release("order:42").await
        };
        let (shipped, forced) = tokio::join!(ship(&locks), operator);
        assert!(forced.unwrap());
        assert!(matches!(shipped, Err(Error::Lost(_))), "{shipped:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn loss_of_the_guard_ends_the_work() {
        let locks = LockManager::in_process();
        let guard = locks.lock("order:42").acquire().await.unwrap();
        let begin = Instant::now();
        let work = guard.run(async |_| packing().await);
        guard.simulate_loss();
        assert!(work.await.is_err());
        assert_eq!(begin.elapsed().as_secs(), 0);
    }
}
