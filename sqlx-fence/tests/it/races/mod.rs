//! Races between a stale writer and a new writer, 400 at each isolation level, with and without a fence. The tests
//! count lost updates.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod conflict;
mod many;
mod mariadb;
mod postgres;
mod race;
mod sqlite;

/// The number of races of each kind in `cargo test`.
const RACES: u64 = 50;

/// The number of transactions of each writer in the tests with many rows.
const TRANSACTIONS: i64 = 60;

/// How a writer protects its write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// Not protected.
    Nothing,
    /// With a fenced statement.
    Statement,
    /// Not protected, and the write depends on a read.
    ReadThenWrite,
    /// Like `ReadThenWrite`, but inside of `fence.begin`.
    Transaction,
}
