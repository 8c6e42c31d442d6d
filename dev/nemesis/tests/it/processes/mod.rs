//! Guarantees across processes: order, tokens, permits, handover, a stopped holder, a job that runs once, elections, data
//! in the database of the locks, and processes without a server that are killed and stopped.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod election;
mod handover;
mod locked;
mod order;
mod pause;
mod schedule;
mod semaphore;
mod sqlite;
mod tls;
mod tokens;
mod waiters;

use std::time::Duration;

use leasehold_nemesis::clients::{Clients, Repeat, Task, client};
use leasehold_testkit::processes::ChildProcess;

/// The program of all processes.
const CLIENT: &str = env!("CARGO_BIN_EXE_client");

/// Practically endless.
const ENDLESS: u64 = u64::MAX / 2;

fn start(url: &str, task: &Task) -> ChildProcess {
    client(CLIENT, url, task).start().unwrap()
}

/// Starts `count` processes with the same task.
fn started(count: usize, url: &str, work: Repeat) -> Clients {
    let mut clients = Clients::new(CLIENT, url, work).unwrap();
    for _ in 0..count {
        clients.start(|client| client).unwrap();
    }
    clients
}

fn work(tasks: usize, count: u64) -> Repeat {
    Repeat {
        tasks,
        count,
        ttl: Duration::from_secs(30),
        hold: Duration::ZERO,
        permits: None,
        file: "".into(),
    }
}
