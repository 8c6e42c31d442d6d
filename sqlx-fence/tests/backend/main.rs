//! Locks in a database: the conformance suite, and what only this backend promises.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod connected;
mod late;
mod mariadb;
mod notified;
mod postgres;
mod sqlite;
mod swept;
