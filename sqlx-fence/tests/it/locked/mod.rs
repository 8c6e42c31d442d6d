//! Attacks transactions that commit only while their lock is held.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod deferred;
mod delayed;
mod dropped;
mod history;
mod kinds;
mod loss;
mod renewed;
mod tools;
mod waiting;
