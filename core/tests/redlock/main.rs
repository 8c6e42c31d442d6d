//! Locks on a majority of real Redis servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod connecting;
#[cfg(feature = "credentials-provider")]
#[path = "../credentials/mod.rs"]
mod credentials;
#[path = "../crowd/mod.rs"]
mod crowd;
#[path = "../documented/mod.rs"]
mod documented;
mod election;
mod faults;
mod fence_ttl;
mod foreign;
mod lists;
mod memory;
mod nodes;
mod places;
mod planned;
mod rights;
mod rollout;
#[cfg(feature = "credentials-provider")]
mod rotating;
mod suite;
