//! A model of the lock protocol on one Redis server, and a checker that visits all its states. The module [`quorum`]
//! contains a separate model for a quorum of servers.
//!
//! ```sh
//! cargo run --release -p leasehold-model                              # the table
//! cargo run --release -p leasehold-model -- --list                    # what is checked, in words
//! cargo run --release -p leasehold-model -- --show guard-without-confirmation # a counterexample, step by step
//! ```
//!
//! The protocol consists of two parts. `scripts` contains a function for each script of
//! `core/backends/redis/src/scripts/*.lua`, with the same name. `client` contains the corresponding parts of
//! `core/core/src/engine` and `core/backends/redis/src`. If a script changes, change its function here, too. The tests show
//! what the change breaks:
//!
//! ```
//! use leasehold_model::{Claim, Weakening, counterexample, weakened};
//!
//! let setup = weakened(Weakening::ConfirmBeforeGuard).ok_or("it is shown nowhere")?;
//! let trace = counterexample(&setup, Claim::Exclusion).ok_or("it holds")?;
//! print!("{trace}"); // A holds and releases; B treats its notification as a grant …
//! # assert!(trace.steps() > 3);
//! # Ok::<(), &str>(())
//! ```
//!
//! # What holds
//!
//! | claim | what it says |
//! |---|---|
//! | `exclusion` | two guards are never valid at the same time, and no guard is valid while a foreign program holds the lock |
//! | `backed` | the server has the lock for each valid guard, with its token |
//! | `tokens-differ` | I1: no two guards share a token |
//! | `tokens-grow` | I2: a guard whose attempt began after another was granted has the larger token |
//! | `fenced` | I3: a resource that compares tokens accepts no write of a holder after a write of a later holder |
//! | `no-revival` | no renewal or record succeeds without the lock, or after a later attempt was granted |
//! | `no-ghost` | after the answer to its release, cleanup or record, an attempt has neither the lock nor a queue position |
//! | `waiter-kept` | a living waiter has the lock or a queue position, or polls within a refresh interval |
//! | `no-stall` | if an attempt waits, the lock is without a living holder only for as long as the faults so far explain |
//! | `no-spin` | waiters do not send requests without end while no time passes, so that the two claims before are meaningful |
//! | `in-order` | the lock is never granted before an earlier waiter that lives and receives notifications |
//! | `one-outcome` | the server accepts no outcome while it keeps another one |
//! | `outcomes-grow` | each accepted outcome has a larger token than all outcomes accepted before |
//! | `no-second-run` | no attempt is granted the lock while the server keeps an outcome |
//! | `confirmed-recorded` | the server confirms only outcomes that it has accepted |
//!
//! The last four claims are those of `once`. They are checked in three worlds of their own, so that the others do not
//! grow: `once` and `once-forced` without time limits, and `once-deaths` with fast messages. There a holder sends the
//! outcome of its body instead of a release, and a kept outcome ends an attempt. Outcomes expire. In these worlds, the
//! claims `no-stall` and `waiter-kept` also require that no attempt waits while the server keeps an outcome.
//!
//! The first seven claims are checked in worlds where each message and process may take any time, even forever. In
//! these worlds a dead process is one that takes no more steps, and a lost message is one that never arrives. A
//! notification may arrive at any time, or not at all. Unanswered acquires may be executed repeatedly at any time
//! before their expiry. `exclusion` and `backed` are not claimed where other programs delete or overwrite the key, make
//! it expire early, or force-release the lock. The other claims are.
//!
//! The claims `waiter-kept`, `no-stall`, `no-spin` and `in-order` are checked in other worlds, in which messages are fast
//! and living clients act in time. In these worlds `no-stall` allows a time for each fault so far, and no other
//! time. For a dead holder it is the rest of its lease. If the waiters are not the first ones of their processes, a
//! refresh interval is added. For a waiter that died in the queue of a living process, or that was not notified, it is
//! a grant and a refresh interval. For a waiter that died with its process it is nothing, because the server skips it.
//! For a dead waiter without an order (`unfair`) it is also nothing. For a deleted key it is a refresh interval. These
//! bounds are tight: each such world has a run in which the lock is idle for the whole allowed time. `in-order` is not
//! claimed where waiters have no order, and where notifications are lost, because a waiter that does not confirm in time
//! moves to the end of the queue.
//!
//! A [`Weakening`] leaves out one rule, and shows that the rule is necessary: without it, exactly the named claims are
//! violated. Each world has [`Reachable`] events that must occur in it, so no claim holds only because nothing happens.
//!
//! # What is not modelled
//!
//! - More than three attempts, or more than one lock. Time is a small number of ticks, because only the order of the
//!   durations matters. `short-ttl`, `rounding`, `drifting-clocks` and `overestimated-server-clock` vary this order.
//! - Waiters with and without an order for the same lock.
//! - Attempts that do not queue. They behave like attempts that queue and leave immediately.
//! - How long a waiter is parked. A release may name it, or it may send its own request, at any time. If a release is
//!   not answered, only the named waiter knows that it was named.
//! - Batches of more than a release and an acquire. The worlds without batches cover other requests between the two,
//!   because each request is a separate step there.
//! - `synced` replicas, and an unplanned failover. In a planned one (`promotion`) all clients follow in one step. Each
//!   process is still alive and repeats all its releases immediately, and all messages to the old server are lost.
//! - A server that loses all data is modelled only for the tokens. Its clock is later than all tokens drawn before.
//! - The TTLs of the queue and the fence record, the limit of checked queue positions, errors of memory or permissions,
//!   and the backend retry timeout. A cleanup here is repeated until it is answered.
//! - A living waiter that accepts a direct hand-off late. Where messages are fast, it accepts immediately. A waiter
//!   that never accepts is one whose task died while its process lives.
//! - Answered requests that are executed again. TCP does not do that, and tombstones exist only for duplicates of
//!   unanswered requests.
//! - `once`: `forget`, failures with a retention time of their own, and locks without the flag `once` on the same key.
//!   Records after a failover or a loss of data. Leases without time limits last one tick in these worlds.
//! - The rounding of times inside one process.
//!
//! Like the checker, the model compares states by a 64-bit hash. Among ten million states, two different ones have the
//! same hash with a probability of three in a million.

mod action;
mod attempt;
mod batch;
mod canonical_form;
mod claim;
mod client;
mod explore;
mod faults;
mod judge;
mod macros;
mod network;
mod parking;
mod promotion;
pub mod quorum;
mod recheck;
mod resource;
mod scripts;
mod search;
mod server;
mod setup;
mod setups;
pub mod table;
mod tick;
mod times;
mod trace;
mod trace_text;
mod weakening;
mod world;

pub use self::claim::{Claim, Reachable};
pub use self::explore::{counterexample, example, explore, explore_up_to};
pub use self::search::Explored;
pub use self::setup::{Faults, Pace, Setup};
pub use self::setups::{setup, setups, weakened};
pub use self::times::Times;
pub use self::trace::Trace;
pub use self::weakening::Weakening;
pub use self::world::Budget;
