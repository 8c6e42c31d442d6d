//! A flash sale: 10 items, 20 clients, 3 seconds, and a shop with two instances. A purchase reads the stock, waits a
//! moment, and writes.
//!
//! There are four sales: without a lock, with a mutex in each instance, with the lock of Leasehold but a plain pool, and
//! with Leasehold. In the last two, one holder stalls for longer than its lease, and writes late.
//!
//! A Tower layer locks the buy route per buyer (`service.rs`). The stock change is an annotated function (`shop.rs`).
//! `FencedPool` fences its writes with the token of its lock: the code of a purchase names no token, and is the same
//! with a plain pool (`shelf/table.rs`). Clients send their requests through a round-robin load balancer.
//!
//! Run it with `cargo run --bin flash_sale`. It needs no server: each instance is a process, and the shop and its locks
//! are in one `SQLite` file.
//!
//! - With `--database postgres://…` or `mysql://…` the shop and its locks are in that database (in tables
//!   `flash_sale_…`, `leasehold_fences` and `leasehold_locks`).
//! - With `--url redis://127.0.0.1` the locks are in Redis.
//! - With `--kill` one instance is killed during the sale.
//!
//! Try `--serve`: a page with a buy button per instance. It shows the holder of the lock, the waiters, and the late
//! writes that the fence has refused. Also try the suggestions at the end of the output.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
)]

mod args;
mod board;
mod clients;
mod deployment;
mod error;
mod front;
mod http;
mod instance;
mod ledger;
mod locking;
mod page;
mod progress;
mod report;
mod sale;
mod service;
mod shelf;
mod shop;

use std::process::ExitCode;

use crate::args::{Settings, USAGE, Wish};
use crate::deployment::Deployment;
use crate::error::BoxError;
use crate::locking::Locking;
use crate::sale::Sale;

#[tokio::main]
async fn main() -> ExitCode {
    // Allows URLs of databases in `LockManager::connect`.
    let wish = match args::wish(lexopt::Parser::from_env()) {
        Ok(wish) => wish,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match grant(wish).await {
        Ok(code) => code,
        Err(error) => {
            error::tell(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

async fn grant(wish: Wish) -> Result<ExitCode, BoxError> {
    match wish {
        Wish::Help => println!("{USAGE}"),
        Wish::Compare(settings) => return compare(settings).await,
        Wish::Serve { settings, port } => page::serve(settings, port).await?,
        Wish::Instance {
            name,
            url,
            database,
        } => instance::run(&name, &url, &database).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn compare(settings: Settings) -> Result<ExitCode, BoxError> {
    let Settings {
        url,
        database,
        open,
        kill,
    } = settings;
    report::opening(open);
    let shop = Deployment::start(url, database).await?;
    let front = shop.open().await?;
    let mut sales = Vec::new();
    for locking in Locking::ALL {
        let kill = kill && locking == Locking::Leasehold;
        sales.push(Sale::hold(&shop, front, locking, open, kill).await?);
    }
    report::table(&sales);
    report::losses(&sales);
    report::next_steps();
    let right = sales.last().is_some_and(Sale::is_right);
    Ok(if right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
