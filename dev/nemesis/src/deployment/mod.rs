//! Where locks come from: servers, how clients reach them, and how each fault is done to them.

mod cluster;
mod contract;
mod in_process;
mod kind;
mod link;
mod locks;
mod one;
mod redlock;
mod sentinels;
mod start;
mod traces;
mod zookeeper;

pub use self::contract::{Deployment, OUTAGE};
pub use self::kind::Kind;
pub use self::locks::{Locks, SESSION, TTL};
pub use self::start::start;
