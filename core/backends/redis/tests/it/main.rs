//! Locks on real Redis servers: a single server, one with replicas and Sentinels, a Cluster, and a majority.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod cluster;
#[cfg(feature = "credentials-provider")]
mod credentials;
#[path = "../../../../core/tests/crowd/mod.rs"]
mod crowd;
mod documented_privileges;
mod histories;
mod redlock;
mod sentinel;
mod single;
mod state_machine;
#[path = "../../../../core/tests/unfair/mod.rs"]
mod unfair_waiters;
