//! Locks on real `ZooKeeper` servers: a single server, and an ensemble of three.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod access;
mod attempts;
mod check;
#[path = "../../../../core/tests/crowd/mod.rs"]
mod crowd;
mod ensemble;
mod faults;
mod planned;
mod server;
mod suite;
#[cfg(feature = "tls-rustls")]
mod tls;
mod unanswered;
mod unfair;
#[path = "../../../../core/tests/unfair/mod.rs"]
mod unfair_waiters;
mod unresponsive_server;
mod within_a_session;
