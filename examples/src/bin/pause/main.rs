//! A holder that is paused for longer than its lease, continues, and writes.
//!
//! Two client processes deposit money on one account: acquire the lock, read the balance, write the new balance. Client
//! 1 checks that its lock is valid, and is then stopped with `SIGSTOP`. A long garbage collection, a migrated virtual
//! machine or a suspended laptop has the same effect. Its lease expires, and client 2 acquires the lock and writes.
//!
//! Then client 1 continues. Neither a lock nor a check of the clock can stop its write. Only the database can refuse
//! it, because the fencing token of the write is older than the last seen token. `FencedPool` adds the token: the code
//! of the deposit names no token, and is the same with a plain pool.
//!
//! Run it with `cargo run --bin pause` on Unix. It starts the `redis-server` on the `PATH`, or uses the server of
//! `--url redis://127.0.0.1`. The account is in an `SQLite` file. `--draw FILE` draws the timeline as SVG.
//!
//! Try: `--unfenced` uses a plain pool, and the deposit of client 2 is lost. In `client.rs`, use `guard.run` instead of
//! `scope`: it drops the deposit after the loss. But `run` only checks the lock between two polls of a future, so a
//! statement may already be sent.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
)]

mod account;
mod args;
mod client;
mod event;
mod picture;
mod story;

use std::fs;
use std::process::ExitCode;

use leasehold_examples::{BoxError, RedisServer, ended, usage};

use crate::args::{Role, Settings, USAGE};

// A client runs its steps in order on one thread, and is stopped as a whole.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match args::role(lexopt::Parser::from_env()) {
        Ok(Role::Story(settings)) => ended(tell(settings).await),
        Ok(Role::Client(task)) => ended(client::deposit(&task).await),
        Ok(Role::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(mistake) => usage(&mistake, USAGE),
    }
}

async fn tell(settings: Settings) -> Result<(), BoxError> {
    let server = RedisServer::at_or_own(settings.url).await?;
    let story = story::play(server.url(), settings.fenced).await?;
    if let Some(file) = settings.draw {
        fs::write(&file, picture::draw(&story))?;
        println!("drawn: {}", file.display());
    }
    story.verdict()
}
