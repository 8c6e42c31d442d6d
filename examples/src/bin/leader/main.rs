//! One of several processes leads; when it is gone, another one does.
//!
//! Three candidates, each a process, want the same lock. Who has it leads: it runs the job that must run once in the
//! whole system. The first leader is killed, and the next one leads when its lease is over; that one then goes in
//! order, and the last leads at once. Beside it every candidate runs the same cron job: a function with
//! `contended = skip`, which one of them does each time.
//!
//! Run it with `cargo run --bin leader`: a `redis-server` on the `PATH` is started for it, or name one with
//! `--url redis://127.0.0.1`.
//!
//! Try: a shorter `LEASE` in `candidate.rs`, and the next one leads sooner. In `report.rs` take the look at the last
//! report out, and give the processes clocks that differ by more than a report takes: it is done twice. A lock is no
//! substitute for knowing what has been done.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its reader"
)]

mod args;
mod candidate;
mod election;
mod report;

use std::process::ExitCode;

use leasehold_examples::{BoxError, RedisServer, ended, usage};

use crate::args::{Role, USAGE};

#[tokio::main]
async fn main() -> ExitCode {
    match args::role(lexopt::Parser::from_env()) {
        Ok(Role::Election { url }) => ended(elect(url).await),
        Ok(Role::Candidate(candidate)) => ended(candidate.stand().await),
        Ok(Role::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(mistake) => usage(&mistake, USAGE),
    }
}

async fn elect(url: Option<String>) -> Result<(), BoxError> {
    let server = RedisServer::at_or_own(url).await?;
    election::hold(server.url()).await
}
