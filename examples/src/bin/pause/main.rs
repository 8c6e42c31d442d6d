//! A holder that is stopped beyond its lease, wakes up, and writes.
//!
//! Two clients, each a process, deposit money on one account: take the lock, read the balance, write the new one.
//! Client 1 has just seen that its lock is valid when it is stopped with `SIGSTOP`, as a long garbage collection, a
//! moved virtual machine or a closed lid would stop it. Its lease runs out, client 2 takes the lock and writes. Then
//! client 1 wakes up. No lock can stop its write, and no look at the clock: the database must refuse it, and does, as
//! the write carries a fencing token that is older than the newest it has seen.
//!
//! Run it with `cargo run --bin pause` on a Unix: a `redis-server` on the `PATH` is started for it, or name one with
//! `--url redis://127.0.0.1`. The account is an `SQLite` file. `--draw FILE` draws the timeline as SVG.
//!
//! Try: `--unfenced`, and client 2's money is gone. In `client.rs` put the two steps of the deposit into `guard.run`:
//! the late write goes out all the same, as `run` looks between two steps of a future, never inside one.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its reader"
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

// A client is stopped as a whole, and it takes one step after the other.
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
