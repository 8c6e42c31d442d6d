//! A model of the lock's protocol on one Redis server, and a checker that visits all its states. The protocol of a
//! quorum of servers has a model of its own, in [`quorum`].
//!
//! ```sh
//! cargo run --release -p leasehold-model                              # the table
//! cargo run --release -p leasehold-model -- --list                    # what is checked, in words
//! cargo run --release -p leasehold-model -- --show guard-from-wake-up # a counterexample, step by step
//! ```
//!
//! The protocol is `core/src/backend/redis/scripts/*.lua`, each with a function of the same name in
//! `scripts`, and what `core/src/engine` and `core/src/backend/redis` do around them, in `client`. Where a
//! script changes, its function here changes with it, and the tests say what the change broke:
//!
//! ```
//! use leasehold_model::{Claim, Weakening, counterexample, weakened};
//!
//! let setup = weakened(Weakening::ConfirmBeforeGuard).ok_or("it is shown nowhere")?;
//! let trace = counterexample(&setup, Claim::Exclusion).ok_or("it holds")?;
//! print!("{trace}"); // A holds, releases; B is woken and takes that for the lock …
//! # assert!(trace.steps() > 3);
//! # Ok::<(), &str>(())
//! ```
//!
//! # What holds
//!
//! | claim | what it says |
//! |---|---|
//! | `exclusion` | two guards are never both valid, nor one while a foreign program holds the lock |
//! | `backed` | the server has the lock in the name of every valid guard, under its token |
//! | `tokens-differ` | I1: no two guards share a token |
//! | `tokens-grow` | I2: a guard whose attempt began after another was granted has the larger token |
//! | `fenced` | I3: a resource that compares tokens takes no write of a holder after one of a later holder |
//! | `no-revival` | no renewal succeeds without the lock, or once a later attempt has had a guard |
//! | `no-ghost` | after the answer to its release or cleanup an attempt has neither the lock nor a place |
//! | `nobody-forgotten` | a living waiter has the lock, a place, or a look ahead within a refresh |
//! | `no-stall` | the lock is in no living hands while somebody waits for no longer than faults account for |
//! | `no-spin` | waiters do not ask without end while no time passes, so that the two before mean something |
//! | `in-order` | nobody is granted before a waiter who came earlier, lives and listens |
//!
//! The first seven are checked in worlds where every message and process may take as long as it likes, for
//! ever included: there a dead process is one that does nothing any more, a lost message one that never
//! arrives, and a wake-up may come at any time or not at all. Acquires that were not answered may be
//! carried out at any time before their expiry, and as often as they like. `exclusion` and `backed` are not claimed
//! where others delete or overwrite the key, expire it early, or force the lock open; the others are.
//!
//! The rest is checked in worlds where messages are prompt and the living do what is due. `no-stall` then
//! allows for each fault so far, and for nothing else: what is left of a dead holder's lease, and a refresh
//! more if the waiters behind are not the first of their process; a grant and a refresh for a waiter that
//! died in the queue of a living process, or was not told; nothing for one that died with its process, whom
//! the server passes over; a refresh for a key that somebody deleted. These bounds are met: in each such
//! world a run is found in which the lock stands idle for all of the time allowed. `in-order` is not claimed
//! where wake-ups are lost, for a waiter that does not confirm in time goes to the end.
//!
//! Each rule that a [`Weakening`] leaves out is shown to be needed: without it exactly the claims that it
//! names are broken. The worlds are not empty: each has [`Reachable`]s that must be seen in it.
//!
//! # What is not modelled
//!
//! - More than three attempts, or more than one lock. Time is a small number of ticks; only the order of the
//!   lengths matters, and `short-ttl`, `rounding`, `drifting-clocks` and `old-news` vary it.
//! - Attempts that do not queue: they are those that queue, and leave at once.
//! - How long a waiter is parked: it may be named, or ask, at any time. Whom a release names that is not answered is known
//!   to the one that is named and to nobody else.
//! - Batches of more than a release and an acquire. What other requests do between the two is in the worlds without
//!   batches, where each is a step of its own.
//! - `synced` replicas, and a failover that nobody planned. In a planned one (`promotion`) all clients follow in one step,
//!   each process still lives and repeats all its releases at once, and what was on its way to the old server is lost.
//! - A server that forgets everything is modelled for the tokens only, and with a clock that has passed every token
//!   drawn before.
//! - The TTLs of queue and fence record, the bound on places looked at, errors for want of memory or rights,
//!   the outage limit: a cleanup here is repeated until it is answered.
//! - A living waiter that does not take for long what was passed on to it: where messages are prompt it is due at once. One
//!   that never takes it is one whose task died while its process lives.
//! - Requests that were answered and are carried out again. TCP does not do that, and the seal is set only
//!   for copies that were not answered.
//! - The rounding of times inside one process.
//!
//! States are told apart by a 64-bit hash, as the checker does: among ten million, two would share one by
//! chance with a probability of three in a million.

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
pub use self::explore::{counterexample, example, explore};
pub use self::search::Explored;
pub use self::setup::{Faults, Pace, Setup};
pub use self::setups::{setup, setups, weakened};
pub use self::times::Times;
pub use self::trace::Trace;
pub use self::weakening::Weakening;
pub use self::world::Budget;
