//! A function that runs while its lock is held, and not at all without it.
//!
//! Two clerks ship the same order and a third one another: the first two take turns, the third does not wait.
//!
//! Run it with `cargo run --example annotated`; `-- redis://127.0.0.1` keeps the locks there, and you can run it twice
//! at once. Try: `contended = skip` with a result of `Option<FencingToken>`, and Bob goes home.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

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
    // Where annotated functions find it; once per process there is `set_global_default`.
    let work =
        locks.scope(async { tokio::try_join!(ship(42, "Ann"), ship(42, "Bob"), ship(7, "Cho")) });
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
    async fn one_order_is_shipped_by_one_clerk_at_a_time_and_another_beside_it() {
        let begin = tokio::time::Instant::now();
        let [ann, bob, _cho] = work(&LockManager::in_process()).await.unwrap();
        assert!(ann < bob);
        assert_eq!(
            begin.elapsed().as_millis() / 100,
            2,
            "two in turn, one beside them"
        );
    }
}
