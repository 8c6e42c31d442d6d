//! Leasehold on a simulated network with simulated time. A seed reproduces runs that real servers and real clocks show
//! only once in a thousand runs.
//!
//! ```sh
//! cargo run -p leasehold-simulation                        # 1 000 seeds
//! cargo run -p leasehold-simulation -- --seeds 100000      # more of them
//! cargo run -p leasehold-simulation -- --seed 42           # one of them, with its history
//! ```
//!
//! A seed is one run. Three processes with three tasks each acquire, hold, lose and release locks of several kinds on a
//! server, over the network of [`turmoil`]. All tested parts are real: the manager, the engine, the watchdog, the Redis
//! backend, the `redis` crate with its connection, and the scripts. Network, time and the [server](SimulatedRedis) are
//! simulated. The server runs the scripts that the client loads, in the Lua version of Redis. `tests/equal` compares it
//! with a real server.
//!
//! Sometimes a task requests many locks together. Then locks are handed off directly inside a process, and requests are
//! sent in batches. One lock is an election, in which the tasks campaign. Two more tasks of each process call `once`.
//!
//! # Faults
//!
//! Each run has random latencies and faults. Futures are dropped after some polls. Links hold messages back, lose them
//! in one or both directions, and are repaired. The server is killed and restarts with or without its data, or loses
//! its scripts. Processes are killed and restarted. One seed in four has a network without faults, and one in five has
//! a slow network.
//!
//! # Claims
//!
//! | claim | what it says |
//! |---|---|
//! | exclusion | two guards that exclude each other are never valid at the same time, unless the server has lost the first lock |
//! | tokens | a request after another grant gets a larger token, even if the server has lost data; concurrent readers get equal tokens |
//! | order | without network faults, each exclusive lock is granted in the order in which requests reach the server, except in the election |
//! | liveness | after all repairs, every call ends |
//! | nothing left | at the end, every lock is free, no waiter is left, and each key expires after its TTL |
//! | promptness | without network faults, a released lock is granted to the next waiter within a moment, and waiters of `once` receive the outcome within a moment |
//! | one execution | no body of `once` runs while the server keeps an outcome from before the call |
//! | one outcome | the server accepts no outcome while it keeps another one |
//! | outcomes | each accepted outcome has a larger token than all before; each returned result was accepted, and was kept during the call; a result that a caller reports as not recorded was not accepted |
//! | determinism | the same seed always has exactly the same history |
//!
//! Each of the [`MISTAKES`], in a script or in a client, violates one of the claims: `--mistake NAME`.
//!
//! # What is not simulated
//!
//! Sentinels, Clusters, Redlock and replicas; clocks that differ; retransmission of lost segments (a connection that
//! lost one stays silent); TLS.

mod argument;
mod campaign;
mod children;
mod client;
mod clock;
mod faults;
mod grant_order;
mod history;
mod judge;
mod lease_from_answer;
mod mistakes;
mod once_call;
mod operation;
mod outcomes;
mod poll_limit;
mod randomness;
mod report;
mod requests;
mod seed_process;
mod server;
mod shared;
mod simulation;

pub use self::argument::{USAGE, Wish, wish};
pub use self::children::{Spawned, run_many, run_mistaken, run_one};
pub use self::mistakes::{MISTAKES, Mistake};
pub use self::report::Report;
pub use self::seed_process::run_if_child;
pub use self::server::{Keyspace, Message, Reply, Served, SimulatedRedis};
