//! Runs the larger examples on real servers for a short time, and checks their output.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod calls;
#[cfg(feature = "failover")]
mod failover;
mod leader;
mod market;
mod pause;
mod programs;
