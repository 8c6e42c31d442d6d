//! Tests the layers in process with paused time, over TCP, over Redis, and with gRPC.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod any_service;
mod bodies;
mod events;
mod fencing;
mod grpc;
mod http;
mod http2;
mod idempotency;
mod keys;
mod kinds;
mod layers;
mod locking;
mod loss;
mod options;
mod problems;
mod redis;
mod request_ends;
mod shop;
mod single_release;
mod sql;
mod tools;
mod two_processes;
mod waiting;
mod websockets;
mod wire;
