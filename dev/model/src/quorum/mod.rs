//! A model of the quorum protocol (Redlock with fencing tokens) on up to five nodes.
//!
//! What is modelled is the protocol of the scripts `acquire`, `raise_token`, `extend` and `release` on each node (`scripts`)
//! and what a client does with their answers (`client`). A client that tries again does so in a new *round* with an id of
//! its own, so the rounds of a world are those of one client or of several. Messages are carried out in any
//! order, late, twice or never. A token that a node draws comes from its clock, a hint and its counter; [`Clocks`]
//! says how far clocks and hints are trusted.
//!
//! # What holds
//!
//! | claim | in worlds |
//! |---|---|
//! | `tokens-differ`, `tokens-grow`, `fenced` | where locks expire at any time and clocks and hints show anything, as long as no node loses its state; copies of all requests included |
//! | the same | where a node loses its state and is away for longer than ε + S; with an older state, also for longer than the longest validity |
//! | the same | where counters expire once they were idle for longer than ε + S |
//! | the same | on one server, where another with an older state takes over after more than ε |
//! | `no-revival` | where requests come late and twice: no quorum extends a lease after a later round had been granted |
//! | `exclusion` | where locks expire after their TTL and clients leave a margin for their clocks; nodes that lost their locks are away for longer than the longest TTL |
//! | `no-ghost` | where acquires expire, releases leave tombstones, and a node that lost its tombstones is away until the acquires expired |
//!
//! Each rule that a [`Weakening`] leaves out is shown to be needed. Two liberties are shown to be harmless: a client may
//! count answers that come after it chose its token, if they are equal to it or can be raised to it
//! (`later-answers`); and it may choose among any quorum of answers or more than a quorum.
//!
//! # What is not modelled
//!
//! - More than three rounds, five nodes, or two crashes. Five nodes and four are explored with clocks that stand still,
//!   four also with any clocks (`--large`).
//! - A token that is chosen anew because a later answer is larger.
//! - Nodes that lose their state and are not recognised (FLUSHALL, a promoted replica), split brain,
//!   and a change of the set of nodes.
//! - A key that is granted more than once a tick: its counter could get ahead of all clocks.
//! - A client whose next round reuses the id of the one before, as a weakening.
//! - Liveness: how long a round takes, or whether one succeeds.
//!
//! Of tokens that are past only the order is kept: from step to step of a trace the same token may have another number.
//! Nodes and rounds are interchangeable, and worlds that differ in their names only count as one.

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

pub use self::explore::{counterexample, example, explore};
pub use self::reachable::Reachable;
pub use self::setup::{Clocks, Faults, Leases, Setup, Times};
pub use self::setups::{large_setups, setup, setups, weakened};
pub use self::weakening::Weakening;
pub use self::world::Budget;
