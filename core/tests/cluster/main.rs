//! Locks on a Redis Cluster.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

#[cfg(feature = "credentials-provider")]
#[path = "../credentials/mod.rs"]
mod credentials;
#[path = "../documented/mod.rs"]
mod documented;
mod ears;
mod moving;
mod outage;
mod planned;
mod promotion;
mod refused;
mod rights;
#[cfg(feature = "credentials-provider")]
mod rotating;
mod servers;
mod slots;
mod suite;
