//! A lease that is so short that small delays endanger it, renewed for a long time.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::servers::RedisServer;
use tokio::time::sleep;

const TTL: Duration = Duration::from_millis(300);
const SLICE: Duration = Duration::from_millis(100);
const SLICES: usize = 100;

/// A task that only measures how late it runs.
fn stall_monitor() -> Arc<AtomicU64> {
    const BEAT: Duration = Duration::from_millis(5);
    let longest = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&longest);
    tokio::spawn(async move {
        loop {
            let before = Instant::now();
            sleep(BEAT).await;
            let late = before.elapsed().saturating_sub(BEAT);
            heard.fetch_max(late.as_micros().try_into().unwrap(), Ordering::Relaxed);
        }
    });
    longest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lease_of_300_ms_is_renewed_for_ten_seconds() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::new(Redis::connect(&server.url()).await.unwrap());
    let stall = stall_monitor();
    let mut guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    let mut void = Vec::new();
    // A slice with a stall of the machine says nothing, so it does not count. The loop ends even if there are only such.
    for slice in 0..SLICES * 30 {
        if slice - void.len() >= SLICES {
            break;
        }
        sleep(SLICE).await;
        let stalled = Duration::from_micros(stall.swap(0, Ordering::Relaxed));
        if stalled > TTL / 6 {
            void.push(slice);
        }
        if !guard.is_valid() {
            // A stall can cause the loss of a lease that ends one TTL later.
            let reach = TTL.as_millis().div_ceil(SLICE.as_millis()) as usize + 1;
            let blamed = void.last().is_some_and(|last| slice - last <= reach);
            assert!(
                blamed,
                "lost in slice {slice}: {:?}; void: {void:?}",
                guard.ended().await
            );
            guard = locks.lock("k").ttl(TTL).acquire().await.unwrap();
        }
    }
    println!("{} void slices beside {SLICES}", void.len());
    guard.release().await.unwrap();
}
