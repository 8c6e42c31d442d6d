//! A market on Redis: sellers list items, buyers buy them, and each deal changes three keys together.
//!
//! The example compares three methods under three loads:
//!
//! - `WATCH`, which retries a deal if a key that it has read was changed
//! - one lock for the whole market
//! - one lock per item
//!
//! Every player is a separate process with its own connection and lock manager, as if it were on another machine. After
//! each cell the items and the money are counted. Each listed item must be for sale or bought once, and the sum of the
//! money must not change.
//!
//! Run it with `cargo run --release --bin market`. It starts the `redis-server` on the `PATH`, or uses the server of
//! `--url redis://127.0.0.1`, with its own keys, which it removes afterwards. `--seconds 60` sets the duration of each
//! of the nine cells. `--json FILE` and `--charts FOLDER` write the results to files.
//!
//! Every deal has the same steps with all three methods, with one round trip per step. With `WATCH`, a buyer only
//! succeeds if no other deal interferes during four round trips. Try: `--decide 1`, so that a buyer waits for a
//! millisecond before buying an item; with `WATCH` hardly any purchase succeeds then. In `trade.rs` use one of ten
//! locks for each item. Remove `acquire`, and see which sum is wrong.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
)]

mod args;
mod audit;
mod cell;
mod charts;
mod keys;
mod outcome;
mod player;
mod report;
mod runner;
mod score;
mod trade;

use std::fs::{self, File};
use std::io::Write;
use std::process::ExitCode;

use leasehold::backend::redis::Redis;
use leasehold_examples::{BoxError, RedisServer, ended, usage};

use crate::args::{Role, Settings, USAGE};
use crate::cell::Cell;

// Each player is one task in its own process.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match args::role(lexopt::Parser::from_env()) {
        Ok(Role::Market(settings)) => ended(market(settings).await),
        Ok(Role::Player(task)) => ended(player::play(&task).await),
        Ok(Role::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(mistake) => usage(&mistake, USAGE),
    }
}

async fn market(settings: Settings) -> Result<(), BoxError> {
    // Opens the output first, so that an error shows before the market opens.
    let json = settings.json.as_ref().map(File::create).transpose()?;
    if let Some(folder) = &settings.charts {
        fs::create_dir_all(folder)?;
    }
    let server = RedisServer::at_or_own(settings.url).await?;
    // Reports a server that is down or too old before any player starts.
    Redis::connect(server.url()).await?;

    report::opening(settings.pace, server.is_own());
    let mut results = Vec::new();
    for (place, cell) in Cell::all().into_iter().enumerate() {
        let progress = report::Progress::new(place, cell, settings.pace.length);
        results.push(runner::run(server.url(), cell, settings.pace, progress).await?);
    }
    report::table(&results);
    if let Some(mut file) = json {
        writeln!(file, "{}", report::json(settings.pace, &results)?)?;
    }
    if let Some(folder) = &settings.charts {
        charts::draw(folder, settings.pace.length, &results)?;
    }
    Ok(())
}
