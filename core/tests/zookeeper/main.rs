//! Locks on real `ZooKeeper` servers, alone and as an ensemble of three.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod access;
mod attempts;
mod ensemble;
mod faults;
mod mute;
mod server;
mod suite;
#[cfg(feature = "zookeeper-tls")]
mod tls;
mod unanswered;
