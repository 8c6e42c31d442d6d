//! Locks in a database: the conformance suite, and what only this backend promises.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod connected;
mod contention;
mod histories;
mod isolation;
mod late;
mod mariadb;
mod notified;
mod pools;
mod postgres;
mod refused;
mod restarts;
mod sqlite;
mod swept;
