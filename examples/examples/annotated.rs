//! A function that runs only while its lock is held.
//!
//! Two clerks ship the same order, and a third clerk ships another one. The first two take turns; the third does not
//! wait.
//!
//! Run it with `cargo run --example annotated`. Add `-- redis://127.0.0.1` to use Redis, and run it twice concurrently.
//! Try: `contended = "skip"` with the result `Option<FencingToken>`, and Bob's call is skipped.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use leasehold::{Error, FencingToken, LockManager, distributed_lock};
use tokio::time::sleep;

#[distributed_lock("order:{order}", ttl = "30s", wait = "5s", guard = lock)]
async fn ship(order: u64, clerk: &str) -> Result<FencingToken, Error> {
    println!("{clerk} begins with order {order}");
    sleep(Duration::from_millis(100)).await;
    println!("{clerk} has shipped order {order}, token {}", lock.token());
    Ok(lock.token())
}

/// The tokens of Ann, Bob and Cho.
async fn work(locks: &LockManager) -> Result<[FencingToken; 3], Error> {
    // Annotated functions use the manager of this scope. `set_global_default` sets one for the whole process.
    let work = locks
        .as_default(async { tokio::try_join!(ship(42, "Ann"), ship(42, "Bob"), ship(7, "Cho")) });
    Ok(work.await?.into())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let locks = match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    };
    work(&locks).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_for_one_order_take_turns_and_another_order_runs_concurrently() {
        let begin = tokio::time::Instant::now();
        let [ann, bob, _cho] = work(&LockManager::in_process()).await.unwrap();
        assert!(ann < bob);
        assert_eq!(
            begin.elapsed().as_millis() / 100,
            2,
            "two in turn, one concurrently"
        );
    }
}
