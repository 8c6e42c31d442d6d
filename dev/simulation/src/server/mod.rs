//! A Redis server for the simulation, with the few commands that Leasehold's scripts and connections use, on in-memory
//! data.
//!
//! The client loads its real scripts, which run in the Lua version of Redis. Only the commands that they call are
//! simulated. `tests/equal` compares them with a real server.

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
