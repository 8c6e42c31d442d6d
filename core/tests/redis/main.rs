//! Locks on a real Redis server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod batches;
mod blocking;
mod carriers;
mod clock;
mod companions;
mod connecting;
#[cfg(feature = "credentials-provider")]
#[path = "../credentials/mod.rs"]
mod credentials;
mod crowd;
#[path = "../documented/mod.rs"]
mod documented;
mod ended;
mod faults;
mod fence;
mod fence_connecting;
mod fence_ttl;
mod foreign;
mod hold_at_least;
mod once;
mod one_by_one;
mod operators;
mod outage;
mod parked;
mod passing;
mod pipeline;
mod planned;
mod quiet;
mod renewal;
mod rights;
mod rollout;
#[cfg(feature = "credentials-provider")]
mod rotating;
mod server;
mod several;
mod sharing;
mod suite;
mod tls;
mod tokens;
mod trouble;
mod unfair;
#[path = "../unfair/mod.rs"]
mod unfair_waiters;
mod waiting;
