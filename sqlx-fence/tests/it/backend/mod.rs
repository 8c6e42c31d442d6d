//! Locks in a database: the conformance suite, and what only this backend promises.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod connect;
mod connected;
mod contention;
mod histories;
mod isolation;
mod late;
mod many_old_rows;
mod mariadb;
mod notified;
mod old_rows;
mod pgbouncer;
mod pools;
mod postgres;
mod refused;
mod restarts;
mod sqlite;
mod statements;
mod waiters;
