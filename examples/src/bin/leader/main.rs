//! Leader election: one of several processes leads, and when it ends, another one leads.
//!
//! Three candidate processes campaign in one election. The leader runs a job that only one process may run. The first
//! leader is killed, and the next one leads when the lease has expired. The second leader is stopped normally, and the
//! last one leads immediately.
//!
//! In addition, every candidate runs the same cron job: a function with `once`, whose key ends with the time at which
//! the job is due. One candidate executes it each time, and the others receive its result.
//!
//! Run it with `cargo run --bin leader`. It needs no server: the lock is in a `SQLite` file. With
//! `--url redis://127.0.0.1` or `--url postgres://…` the lock is on that server.
//!
//! Try: a shorter `LEASE` in `candidate.rs`, and the next one leads sooner. In `report.rs` replace `once` by
//! `contended = "skip"`. If the clocks of the processes then differ by more than the duration of a report, a report runs
//! twice. A lock does not replace a record of completed work.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
)]

mod args;
mod candidate;
mod election;
mod report;

use std::process::ExitCode;

use leasehold_examples::{BoxError, ended, usage};

use crate::args::{Role, USAGE};

#[tokio::main]
async fn main() -> ExitCode {
    // Allows URLs of databases in `connect`.
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
    // The folder is deleted with its file at the end.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("locks.db");
    let url = url.unwrap_or_else(|| format!("sqlite:{}", file.display()));
    election::hold(&url).await
}
