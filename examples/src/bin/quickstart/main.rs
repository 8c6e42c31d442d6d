//! A flash sale: 10 items, 20 buyers, 3 seconds, and a shop that reads its stock, thinks, and writes.
//!
//! First without a lock, then with Leasehold's. Nothing to install: the locks live in this process and
//! the shop in `SQLite`.
//!
//! Run it with `cargo run --bin quickstart`, or with `cargo run --bin quickstart -- --url
//! redis://127.0.0.1`: then the buyers run in two processes that share the lock. Try what it says at its
//! end.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its reader"
)]

mod args;
mod branch;
mod buyers;
mod report;
mod sale;
mod shop;

use std::process::ExitCode;

use crate::args::{Role, USAGE};
use crate::sale::{Place, Sale};
use crate::shop::STOCK;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    match args::role(std::env::args().skip(1)) {
        Role::Sale { url: None, .. } => two_sales(Place::Here).await,
        Role::Sale {
            url: Some(url),
            kill,
        } => two_sales(Place::TwoProcesses { url: &url, kill }).await,
        Role::Branch(branch) => branch.run().await.map(|()| ExitCode::SUCCESS),
        Role::Unknown => {
            eprintln!("{USAGE}");
            Ok(ExitCode::FAILURE)
        }
    }
}

async fn two_sales(place: Place<'_>) -> Result<ExitCode, BoxError> {
    report::opening(place);
    let unlocked = Sale::hold("without a lock", false, place).await?;
    let locked = Sale::hold("with Leasehold", true, place).await?;
    report::table(&[&unlocked, &locked]);
    report::next_steps();
    let right = locked.sold == STOCK && locked.stock == 0;
    Ok(if right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
