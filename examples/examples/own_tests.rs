//! Tests of one's own code, in process: no server, and no waiting.
//!
//! `LockManager::in_process()` is a world of its own for each test. It lives on tokio's clock, which a test can pause:
//! ten seconds pass at once. Two ways to lose a lock show what the code does then: `guard.simulate_loss()`, with the
//! feature `test-util`, where the test has the guard, and `force_release` where the code keeps it.
//!
//! Run it with `cargo test --example own_tests`. Try: take `guard.run` out of `ship`, and see which test notices.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use std::time::Duration;

use leasehold::{Error, LockManager};
use tokio::time::sleep;

/// The code that is tested: ships an order, which takes ten seconds, one at a time.
async fn ship(locks: &LockManager) -> Result<&'static str, Error> {
    let lock = locks.lock("order:42").ttl(Duration::from_secs(15));
    let guard = lock.wait(Duration::from_secs(30)).acquire().await?;
    let shipped = guard.run(packing()).await?;
    guard.release().await?;
    Ok(shipped)
}

async fn packing() -> &'static str {
    sleep(Duration::from_secs(10)).await;
    "shipped"
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    println!(
        "{}; the tests are quicker",
        ship(&LockManager::in_process()).await?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use leasehold::AcquireError;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn two_ship_one_after_the_other() {
        let (locks, begin) = (LockManager::in_process(), Instant::now());
        let shipped = tokio::try_join!(ship(&locks), ship(&locks)).unwrap();
        assert_eq!(shipped, ("shipped", "shipped"));
        assert_eq!(begin.elapsed().as_secs(), 20, "of the paused clock");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_told_so() {
        let locks = LockManager::in_process();
        let _held = locks.lock("order:42").acquire().await.unwrap();
        let refused = ship(&locks).await;
        assert!(matches!(
            refused,
            Err(Error::Acquire(AcquireError::TimedOut { .. }))
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn work_ends_when_an_operator_forces_the_lock_open() {
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
    async fn work_ends_with_its_guard() {
        let locks = LockManager::in_process();
        let guard = locks.lock("order:42").acquire().await.unwrap();
        let begin = Instant::now();
        let work = guard.run(packing());
        guard.simulate_loss();
        assert!(work.await.is_err());
        assert_eq!(begin.elapsed().as_secs(), 0);
    }
}
