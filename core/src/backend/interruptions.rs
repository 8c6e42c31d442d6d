//! Waits for an interruption of the connection to a backend.

use std::future::pending;

use tokio::sync::watch;

/// Returns the number of interruptions, once it is greater than `seen`.
pub(crate) async fn more_than(seen: u64, interruptions: &watch::Sender<u64>) -> u64 {
    let mut counts = interruptions.subscribe();
    let more = counts.wait_for(|count| *count > seen).await;
    let count = more.map(|count| *count);
    match count {
        Ok(count) => count,
        // The sender is never dropped first, because the caller owns it.
        Err(_no_sender) => pending().await,
    }
}
