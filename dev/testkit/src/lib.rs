//! What Leasehold's own tests stand on. Not published, and not used by any
//! crate which is.
//!
//! The binary is `cargo xtask` (an alias, see `.cargo/config.toml`):
//!
//! | command | does |
//! |---|---|
//! | `cargo xtask test` | everything that must hold before a change goes in |
//! | `cargo xtask test --only NAME` | the steps whose name contains NAME |
//! | `cargo xtask lint`  | the structure checks alone, in a second |
//! | `cargo xtask minimal-versions` | whether the published crates build with the oldest versions they allow |
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`suite`] | the steps of a test run: what they are, running them, the report |
//! | [`install`] | the servers the tests need: finding or installing them |
//! | [`lint`]  | structure checks: file sizes, module circles, leftovers, guarantees, supply chain |
//! | [`minimal`] | the published crates with the oldest versions of what they need |
//! | [`workspace`] | what cargo knows about the workspace |
//! | [`error`] | why a run could not start or go on |
//!
//! With the feature `servers`, which `cargo xtask` does without, there is also
//! what integration tests stand on:
//!
//! | module | holds |
//! |---|---|
//! | `servers` | real servers, on free ports and gone with the test |
//! | `proxy` | a network between clients and server that fails on command |
//! | `processes` | processes that can be stopped, resumed and killed |
//! | `clock` | wall clocks that are wrong, and that jump |
//! | `history` | what holders did, and whether it was allowed |
//! | `resp` | the protocol of Redis by hand, and a raw client |

pub mod cli;
#[cfg(feature = "servers")]
pub mod clock;
pub mod error;
#[cfg(feature = "servers")]
pub mod history;
pub mod install;
pub mod lint;
pub mod minimal;
#[cfg(feature = "servers")]
mod port;
#[cfg(feature = "servers")]
pub mod processes;
#[cfg(feature = "servers")]
pub mod proxy;
#[cfg(feature = "servers")]
pub mod resp;
#[cfg(feature = "servers")]
pub mod servers;
pub mod suite;
pub mod workspace;
