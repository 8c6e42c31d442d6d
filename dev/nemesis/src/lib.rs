//! Tests whether fences protect data if locks fail, and which writes without a fence are lost.
//!
//! Several processes change the same data, each while it holds a shared lock. Meanwhile a nemesis stops and kills
//! processes, cuts links, kills servers, causes failovers and moves clocks. Each holder does the same work four times.
//! It reads a counter and a list, waits and writes them, and it appends its token to a trail. It does both with a
//! fence, and both without one as the *control*. The control must lose updates in the same runs, otherwise a run would
//! prove nothing.
//!
//! | kind of data | the fenced writes | the control |
//! |---|---|---|
//! | `postgres`, `mariadb`, `sqlite` | `Fence::begin` and `Fence::query`, with the token of the guard | the same statements on the plain pool |
//! | `redis` | `RedisFenceStore::pipeline`, with the token of the guard | the same commands with a constant token |
//! | `postgres-pool`, `mariadb-pool`, `sqlite-pool` | `FencedPool::begin` and a single `UPDATE` through a `FencedPool`; the code uses no token | the same statements on the plain pool |
//!
//! The fenced writes through a pool run within a scope of the lock, and in every second turn within `run`, which drops
//! them if the lock is lost. The kind `mariadb-pool` does not use `run`, because sqlx 0.9 may lose the connection of a
//! dropped statement. The control never runs within `run`. If the fault causes a second holder, the plain pools must
//! lose an update of the ledger, and a single statement on a plain pool must be stale.
//!
//! The binary `matrix` does that for each deployment of locks and each fault, on all kinds of data concurrently, and
//! prints a table. The binary `soak` runs acquisitions of every kind for an hour, and prints which resources have
//! grown. Tests of several processes start the binary `client`.
//!
//! | module | holds |
//! |---|---|
//! | [`fault`] | the faults of the nemesis |
//! | [`deployment`] | the deployments of locks: servers and their faults |
//! | [`data`] | the changed data: rows in databases, values in Redis, with and without a fence |
//! | [`worker`] | one process that locks and changes data |
//! | [`workers`] | the processes of a cell, and their faults |
//! | [`record`] | the records of a process about its changes |
//! | [`judge`] | the check of these records |
//! | [`cell`] | one deployment with one fault, from its start to its verdict |
//! | [`plan`] | the selection of the cells |
//! | [`report`] | the table |
//! | [`run`] | runs all cells |
//! | [`clients`] | processes that execute the locking tasks of tests |
//! | [`monitor`] | the commands that the server executed for one key, in order |
//! | [`soak`] | many acquisitions during faults, and the growth of resources |

pub mod cell;
pub mod clients;
pub mod data;
pub mod deployment;
pub mod fault;
pub mod judge;
pub mod monitor;
pub mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod soak;
pub mod worker;
pub mod workers;

/// The error that ends a run early.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
