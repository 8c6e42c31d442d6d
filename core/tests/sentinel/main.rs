//! Locks on servers with replicas: which locks a failover keeps, which it loses, and which clients notice.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

#[cfg(feature = "credentials-provider")]
#[path = "../credentials/mod.rs"]
mod credentials;
#[path = "../documented/mod.rs"]
mod documented;
mod failover;
mod hole;
mod planned;
mod refused;
mod rights;
#[cfg(feature = "credentials-provider")]
mod rotating;
mod servers;
mod split;
mod suite;
mod synced;
mod tokens;
mod votes;
