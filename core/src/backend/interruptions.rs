//! Waits for an interruption of the way to a backend.

use std::future::pending;

use tokio::sync::watch;

/// Returns how many interruptions there were, once they are more than `seen`.
pub(crate) async fn more_than(seen: u64, interruptions: &watch::Sender<u64>) -> u64 {
    let mut counts = interruptions.subscribe();
    let more = counts.wait_for(|count| *count > seen).await;
    let count = more.map(|count| *count);
    match count {
        Ok(count) => count,
        // Not reached: the caller has the sender.
        Err(_no_sender) => pending().await,
    }
}
