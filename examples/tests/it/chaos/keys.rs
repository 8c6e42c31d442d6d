//! Keys that are too fine or too coarse, and locks that are nested in different orders.

use std::cell::Cell;
use std::time::Duration;

use leasehold::chaos::Chaos;
use leasehold::{Error, LockManager};
use tokio::time::{Instant, sleep};

use crate::chaos::{found, passes, succeeded};

async fn add(locks: &LockManager, key: &str, stock: &Cell<i64>) -> Result<(), Error> {
    let guard = locks.lock(key).acquire().await?;
    let work = guard.run(async |_| {
        let read = stock.get();
        sleep(Duration::from_millis(10)).await;
        stock.set(read + 1);
        Ok::<_, Error>(())
    });
    work.await
}

/// Two clerks add to one stock.
async fn stock_is_right(chaos: Chaos, keys: [&str; 2]) {
    let stock = Cell::new(0);
    let [ann, bob] = keys;
    let (ann, bob) = tokio::join!(
        chaos.client(async |locks| add(&locks, ann, &stock).await),
        chaos.client(async |locks| add(&locks, bob, &stock).await),
    );
    let added = succeeded(&[ann, bob]);
    assert!(
        stock.get() >= added,
        "{added} added, {} in stock",
        stock.get()
    );
}

#[test]
fn key_that_is_too_fine_is_found() {
    found(async |chaos| stock_is_right(chaos, ["stock:ann", "stock:bob"]).await);
}

#[test]
fn key_of_the_stock_passes() {
    passes(async |chaos| stock_is_right(chaos, ["stock", "stock"]).await);
}

/// Two items are independent, so without faults they do not wait for each other.
async fn items_do_not_wait(chaos: Chaos, keys: [&str; 2]) {
    let (apples, pears) = (Cell::new(0), Cell::new(0));
    let [first, second] = keys;
    let begin = Instant::now();
    tokio::join!(
        chaos.client(async |locks| add(&locks, first, &apples).await),
        chaos.client(async |locks| add(&locks, second, &pears).await),
    );
    assert!(
        !chaos.is_calm() || begin.elapsed() < Duration::from_millis(20),
        "they waited"
    );
}

#[test]
fn key_that_is_too_coarse_is_found() {
    found(async |chaos| items_do_not_wait(chaos, ["stock", "stock"]).await);
}

#[test]
fn key_per_item_passes() {
    passes(async |chaos| items_do_not_wait(chaos, ["stock:apples", "stock:pears"]).await);
}

async fn transfer(locks: &LockManager, from: &str, to: &str, nests: bool) -> Result<(), Error> {
    if nests {
        let _from = locks.lock(from).acquire().await?;
        let _to = locks.lock(to).acquire().await?;
    } else {
        let _both = locks.lock_all([from, to]).acquire().await?;
    }
    Ok(())
}

async fn transfers_end(chaos: Chaos, nests: bool) {
    tokio::join!(
        chaos.client(async |locks| transfer(&locks, "ann", "bob", nests).await),
        chaos.client(async |locks| transfer(&locks, "bob", "ann", nests).await),
    );
}

#[test]
fn different_order_of_nested_locks_is_found() {
    let failure = found(async |chaos| transfers_end(chaos, true).await);
    assert!(failure.reason().contains("did not end"), "{failure}");
}

#[test]
fn lock_set_passes() {
    passes(async |chaos| transfers_end(chaos, false).await);
}
