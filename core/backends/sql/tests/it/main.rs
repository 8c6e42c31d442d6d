//! Locks in a database: the conformance suite, and what only this backend promises.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod check;
mod connect;
mod connected;
mod contention;
mod histories;
mod isolation;
mod late;
mod many_old_rows;
mod mariadb;
mod new_connections;
mod notified;
mod old_rows;
mod pgbouncer;
mod pools;
mod postgres;
mod refused;
mod refused_notifications;
mod restarts;
mod sqlite;
mod statements;
mod switchovers;
mod waiters;
