//! Deployments of locks: the servers, how clients connect to them, and their faults.

mod cluster;
mod contract;
mod database;
mod in_process;
mod kind;
mod link;
mod locks;
mod one;
mod redlock;
mod replicated_database;
mod sentinels;
mod start;
mod traces;
mod zookeeper;

pub use self::contract::{Deployment, OUTAGE};
pub use self::kind::Kind;
pub use self::locks::{Locks, SESSION, TTL};
pub use self::start::start;
