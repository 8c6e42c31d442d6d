//! Locks on servers with replicas: what a failover keeps, what it loses, and who notices.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

#[path = "../documented/mod.rs"]
mod documented;
mod failover;
mod hole;
mod planned;
mod refused;
mod rights;
mod servers;
mod split;
mod suite;
mod synced;
mod tokens;
mod votes;
