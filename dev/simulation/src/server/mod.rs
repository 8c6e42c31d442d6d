//! A Redis for the simulation: the few commands that Leasehold's scripts and its connections use, on data in memory.
//!
//! The scripts are not imitated. The client loads its own, and they run in the Lua that Redis has. What is imitated,
//! and is compared with a real server in `tests/equal`, is what they call.

mod channels;
mod commands;
mod convert;
mod hashes;
mod keyspace;
mod listen;
mod refused;
mod reply;
mod scripts;
mod service;
mod sorted;
mod texts;
mod wire;

pub use self::channels::Message;
pub use self::keyspace::Keyspace;
pub(crate) use self::listen::{PORT, serve};
pub use self::reply::Reply;
pub use self::service::{Served, SimulatedRedis};
