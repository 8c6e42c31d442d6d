//! A model of the quorum protocol (Redlock with fencing tokens) on up to five nodes.
//!
//! The model contains the scripts `acquire`, `raise_token`, `extend` and `release` on each node (`scripts`), and the
//! client's use of their answers (`client`). A client that tries again begins a new *round* with a new id. So the
//! rounds of a world belong to one client or to several. Messages are executed in any order, late, twice or never. The
//! token that a node draws depends on its clock, a hint and its counter. [`Clocks`] defines how far clocks and hints
//! are trusted.
//!
//! # What holds
//!
//! | claim | in worlds |
//! |---|---|
//! | `tokens-differ`, `tokens-grow`, `fenced` | locks expire at any time, clocks and hints are arbitrary, and all requests may be duplicated, but no node loses its state |
//! | the same | a node loses its state and is away for longer than ε + S; if it returns with an older state, also for longer than the longest validity |
//! | the same | counters expire after they were idle for longer than ε + S |
//! | the same | one server, which another one with an older state replaces after more than ε |
//! | `no-revival` | requests arrive late and twice: no quorum extends a lease after a later round was granted |
//! | `exclusion` | locks expire after their TTL, clients subtract a margin for clocks, and nodes that lost their locks are away for longer than the longest TTL |
//! | `no-ghost` | acquires expire, releases leave tombstones, and a node that lost its tombstones is away until the acquires have expired |
//!
//! A [`Weakening`] leaves out one rule, and shows that the rule is necessary. Two freedoms are shown to be harmless. A
//! client may count later answers, if they are equal to its token or can be raised to it (`later-replies`). It may
//! choose the token from any quorum of answers, or from more answers.
//!
//! # What is not modelled
//!
//! - More than three rounds, five nodes, or two crashes. Five and four nodes are explored with stopped clocks, and four
//!   also with any clocks (`--large`).
//! - A new choice of the token because a later answer is larger.
//! - Unnoticed loss of a node's state (FLUSHALL, a promoted replica), split brain, and a change of the set of nodes.
//! - A key that is granted more than once per tick. Its counter could get ahead of all clocks.
//! - A weakening in which a client reuses the id of its previous round.
//! - Liveness: the duration of a round, and whether any round succeeds.
//!
//! Only the order of past tokens is kept, so a token may have different numbers in the steps of a trace. Nodes and
//! rounds are interchangeable, and worlds that differ only in their names count as one.

mod action;
mod canonical_form;
mod client;
mod explore;
mod faults;
mod judge;
mod network;
mod node;
mod possible_tokens;
mod reachable;
mod scripts;
mod setup;
mod setups;
mod tick;
mod trace_text;
mod weakening;
mod world;

pub use self::explore::{counterexample, example, explore, explore_up_to};
pub use self::reachable::Reachable;
pub use self::setup::{Clocks, Faults, Leases, Setup, Times};
pub use self::setups::{large_setups, setup, setups, weakened};
pub use self::weakening::Weakening;
pub use self::world::Budget;
