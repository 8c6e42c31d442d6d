//! Locks around requests: in process on paused time, over TCP, over Redis, and as gRPC.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod any_service;
mod bodies;
mod endings;
mod keys;
mod locking;
mod loss;
mod tools;
mod waiting;
