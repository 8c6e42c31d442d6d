//! The future of an annotated function is only slightly larger than the future of its body.
#![allow(clippy::print_stdout, reason = "helpers of tests")]

use std::mem::size_of_val;

use async_trait::async_trait;
use leasehold::{Error, LockManager, distributed_lock};
use tokio::task::yield_now;

/// The number of bytes that a lock may add to a future.
const ADDED_AT_MOST: usize = 512;

async fn body<const BYTES: usize>() -> Result<usize, Error> {
    let large = [1_u8; BYTES];
    yield_now().await;
    Ok(large.len())
}

#[distributed_lock("order:{id}", guard = lock)]
async fn locked<const BYTES: usize>(id: u64) -> Result<usize, Error> {
    let large = [1_u8; BYTES];
    yield_now().await;
    Ok(large.len() + lock.key().len())
}

#[distributed_lock("order:{id}", lost = "continue")]
async fn locked_to_the_end<const BYTES: usize>(id: u64) -> Result<usize, Error> {
    let large = [1_u8; BYTES];
    yield_now().await;
    Ok(large.len())
}

#[async_trait]
trait Works {
    async fn work(&self, id: u64) -> Result<usize, Error>;
}

#[async_trait]
impl Works for LockManager {
    #[distributed_lock("order:{id}", manager = self)]
    async fn work(&self, id: u64) -> Result<usize, Error> {
        let large = [1_u8; 4096];
        yield_now().await;
        Ok(large.len())
    }
}

fn measure<const BYTES: usize>() {
    let plain = size_of_val(&body::<BYTES>());
    for (name, size) in [
        ("lost = cancel", size_of_val(&locked::<BYTES>(1))),
        (
            "lost = continue",
            size_of_val(&locked_to_the_end::<BYTES>(1)),
        ),
    ] {
        println!("{name}: {plain} -> {size} bytes");
        assert!(size <= plain + ADDED_AT_MOST, "{name}: {plain} -> {size}");
    }
}

#[test]
fn lock_adds_at_most_512_bytes_to_a_future() {
    measure::<16>();
    measure::<1024>();
    measure::<16384>();
}

#[test]
fn lock_adds_at_most_512_bytes_to_a_boxed_future() {
    let locks = LockManager::in_process();
    let size = size_of_val(&*locks.work(1));
    println!("async_trait: 4096 -> {size} bytes");
    assert!(size <= 4096 + ADDED_AT_MOST, "{size}");
}
