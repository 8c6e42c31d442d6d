//! Locks on a Redis Cluster.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod ears;
mod moving;
mod outage;
mod promotion;
mod refused;
mod servers;
mod slots;
mod suite;
