//! The workloads.

mod all;
pub(crate) mod contended;
pub(crate) mod day_later;
mod environment;
pub(crate) mod growth;
pub(crate) mod handoff;
pub(crate) mod held;
pub(crate) mod in_process;
mod kinds;
mod nested;
pub(crate) mod network;
pub(crate) mod nodes;
pub(crate) mod overhead;
mod passes;
pub(crate) mod sql;
pub(crate) mod sql_locks;
pub(crate) mod tower;
pub(crate) mod uncontended;
pub(crate) mod waiters;

pub(crate) use self::all::all;
pub(crate) use self::environment::{Environment, Workload};
