//! A stale writer against a new one, 400 times at each isolation level: who loses what, with and without a fence.

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

/// How many races of each kind.
const RACES: i64 = 400;

/// How many transactions each of those who write many rows begins.
const TRANSACTIONS: i64 = 60;

/// How a writer protects its write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// It does not.
    Nothing,
    /// A fenced statement.
    Statement,
    /// A read, and then a write.
    ReadThenWrite,
    /// The same within `fence.begin`.
    Transaction,
}
