//! Tools for Leasehold's own tests. This crate is not published, and no published crate uses it.
//!
//! The binary is `cargo xtask` (an alias, see `.cargo/config.toml`):
//!
//! | command | does |
//! |---|---|
//! | `cargo xtask test` | runs all checks that a change must pass |
//! | `cargo xtask test --only NAME` | runs the steps whose name contains NAME |
//! | `cargo xtask explore` | runs the explorations among the tests for longer |
//! | `cargo xtask lint`  | runs only the structure checks, in a second |
//! | `cargo xtask versions` | runs the tests of the backends with older and newer servers |
//! | `cargo xtask settings` | runs the tests of the backends with other settings of the servers |
//! | `cargo xtask minimal-versions` | builds the published crates with their oldest allowed dependencies |
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`suite`] | the steps of a test run, and its report |
//! | [`explore`] | the explorations, and how far they have come |
//! | [`install`] | finds and installs the servers for the tests |
//! | [`lint`]  | structure checks, such as file sizes, module cycles and guarantees |
//! | [`minimal`] | the published crates with their oldest allowed dependencies |
//! | [`depth`] | how deep the explorations among the tests go |
//! | [`versions`] | the server versions, and the tests that run with each |
//! | [`workspace`] | the workspace, as reported by cargo |
//! | [`error`] | the errors that prevent or end a run |
//!
//! With the feature `servers`, there are also tools for integration tests. `cargo xtask` does not use this feature.
//!
//! | module | holds |
//! |---|---|
//! | `servers` | real servers on free ports, which end with the test |
//! | `proxy` | a network between clients and server that fails on command |
//! | `processes` | processes that can be stopped, resumed and killed |
//! | `clock` | wall clocks that are wrong or jump |
//! | `history` | records the events of holders, and checks them |
//! | `resp` | the protocol of Redis, and a raw client |

#[cfg(feature = "servers")]
pub mod almost_valid;
pub mod cli;
#[cfg(feature = "servers")]
pub mod clock;
pub mod depth;
pub mod error;
pub mod explore;
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
pub mod versions;
pub mod workspace;
