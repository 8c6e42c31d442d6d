//! Leasehold over a simulated network and in simulated time: what real servers and real clocks show once in a thousand
//! runs, from a number, again and again.
//!
//! ```sh
//! cargo run -p leasehold-simulation                        # 1 000 seeds
//! cargo run -p leasehold-simulation -- --seeds 100000      # more of them
//! cargo run -p leasehold-simulation -- --seed 42           # one of them, with its history
//! ```
//!
//! A seed is one run: three processes with three tasks each take, keep, lose and release locks of several kinds on a
//! server, over [`turmoil`]'s network. What is under test is all real: manager, engine, watchdog, the Redis backend, the
//! `redis` crate with its connection, the scripts. Simulated are the network, the time, and the [server](SimulatedRedis),
//! which runs the scripts that the client loads, in the Lua that Redis has, and is held against a real one in
//! `tests/equal`.
//!
//! Now and then a task asks for many locks at once, so that the lock goes from task to task inside a process, and requests go
//! to the server in batches.
//!
//! # What happens to them
//!
//! Latencies; futures that are dropped after some polls; links that hold what is sent, lose it in one direction or in
//! both, and are mended; a server that is killed and returns with its data or without, or forgets its scripts; processes
//! that are killed and return. One seed in four has a calm network, one in five a slow one.
//!
//! # What is claimed
//!
//! | claim | what it says |
//! |---|---|
//! | exclusion | no two guards are valid at once that exclude each other, unless the server forgot the first |
//! | tokens | who asks after another was granted gets a greater token, whatever the server forgot; readers that share, an equal one |
//! | order | in a calm network each exclusive lock is granted in the order in which the server heard of those who wait |
//! | liveness | once all is mended every call ends |
//! | nothing left | then every lock is free, nobody is in line, and each key goes by its TTL |
//! | promptness | in a calm network a lock that is released goes to the next in line within a moment |
//! | determinism | the same seed has the same history, to the letter |
//!
//! Each of [`MISTAKES`], in a script or in a client, breaks one of them: `--mistake NAME`.
//!
//! # What is not simulated
//!
//! Sentinels, Clusters, Redlock and replicas; clocks that differ; a network that sends a lost segment again (a connection
//! that lost one stays silent); TLS.

mod argument;
mod children;
mod client;
mod clock;
mod faults;
mod grant_order;
mod history;
mod judge;
mod lease_from_answer;
mod mistakes;
mod operation;
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
