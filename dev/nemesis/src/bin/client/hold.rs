//! Holds one lock until its input ends.
//!
//! | input | answer |
//! |---|---|
//! | `look` | `valid true` or `valid false`, from a thread outside of the runtime |
//!
//! If the lock is lost, it prints `lost REASON`.

use std::io::stdin;
use std::time::Duration;

use leasehold::{LockHandle, LockManager};

use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::KEY;

pub(crate) async fn hold(locks: &LockManager, ttl: Duration) -> Result<(), BoxError> {
    let guard = locks.lock(KEY).ttl(ttl).acquire().await?;
    println!("held {}", guard.token());
    let handle = guard.handle();
    let input = tokio::task::spawn_blocking(move || answer(&handle));
    let lost = guard.ended().await;
    println!("lost {:?}", lost.reason);
    input.await??;
    Ok(())
}

/// Checks only the handle, which does not wait for the server.
fn answer(handle: &LockHandle) -> std::io::Result<()> {
    for line in stdin().lines() {
        if line? == "look" {
            println!("valid {}", handle.is_valid());
        }
    }
    Ok(())
}
