//! A flash sale: 10 items, 20 buyers, 3 seconds, and a shop that reads its stock, thinks, and writes.
//!
//! First without a lock, then with Leasehold's. Nothing to install: the locks live in this process and
//! the shop in `SQLite`.
//!
//! Run it with `cargo run --bin quickstart`, then change what you like: take `acquire` out, make `TTL`
//! shorter than a purchase and add `.without_renewal()`, or let a buyer panic.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

mod report;
mod sale;
mod shop;

use std::process::ExitCode;

use leasehold::LockManager;

use crate::sale::Sale;
use crate::shop::{STOCK, Shop};

#[tokio::main]
async fn main() -> Result<ExitCode, sale::BoxError> {
    report::opening();
    let unlocked = Sale::hold("without a lock", Shop::open().await?, None).await?;
    let locks = LockManager::in_process();
    let locked = Sale::hold("with Leasehold", Shop::open().await?, Some(locks.clone())).await?;
    locks.shutdown().await?;

    report::table(&[&unlocked, &locked]);
    report::next_steps();
    let right = locked.sold == STOCK && locked.stock == 0;
    Ok(if right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
