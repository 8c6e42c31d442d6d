//! A market on Redis: sellers list items, buyers buy them, and each deal changes three keys at once.
//!
//! Three ways to keep deals from spoiling each other, under three loads: `WATCH`, which starts a deal anew whenever
//! something it has looked at was changed; one lock for the whole market; one lock per item. Every player is a process
//! of its own, with a connection and a lock manager of its own, as if each were on another machine. After each cell
//! items and money are counted: what was listed is for sale or bought, once, and no coin came or went.
//!
//! Run it with `cargo run --release --bin market`: a `redis-server` on the `PATH` is started for it, or name one with
//! `--url redis://127.0.0.1`, where it uses keys of its own and removes them. `--seconds 60` trades that long in each of
//! the nine cells, `--json FILE` and `--charts FOLDER` keep the figures.
//!
//! Every deal takes the same steps in all three, a round trip each. With `WATCH` it is a matter of luck who buys: who gets
//! the processor for four round trips in a row. Try: `--decide 1`, and a buyer looks at an item for a millisecond before
//! buying it, which with `WATCH` hardly anybody does any more. In `trade.rs` give all items one of ten locks. Leave `acquire` out, and see which sum does not come out.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its reader"
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

// Each player is one task in a process of its own.
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
    // What cannot be written is better known before the market opens.
    let json = settings.json.as_ref().map(File::create).transpose()?;
    if let Some(folder) = &settings.charts {
        fs::create_dir_all(folder)?;
    }
    let server = RedisServer::at_or_own(settings.url).await?;
    // Says what is wrong with it, and with its version, before any player does.
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
