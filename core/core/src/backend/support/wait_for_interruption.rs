//! Waits for an interruption of the connection to a backend.

use std::future::pending;

use tokio::sync::watch;

/// Waits until the number of interruptions is greater than `seen`, and returns the number.
pub async fn more_than(seen: u64, interruptions: &watch::Sender<u64>) -> u64 {
    let mut counts = interruptions.subscribe();
    let more = counts.wait_for(|count| *count > seen).await;
    let count = more.map(|count| *count);
    match count {
        Ok(count) => count,
        // The caller owns the sender, so the channel does not close during this call.
        Err(_no_sender) => pending().await,
    }
}
