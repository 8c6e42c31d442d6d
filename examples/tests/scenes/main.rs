//! Runs the larger examples as a reader would, on real servers and for a short time, and reads what they say.
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
