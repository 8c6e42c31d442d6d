//! What Leasehold's own tests stand on. Not published, and not used by any
//! crate which is.
//!
//! The binary is `cargo xtask` (an alias, see `.cargo/config.toml`):
//!
//! | command | does |
//! |---|---|
//! | `cargo xtask test` | everything that must hold before a change goes in |
//! | `cargo xtask test --only NAME` | the steps whose name contains NAME |
//! | `cargo xtask house` | the structure checks alone, in a second |
//!
//! | room | holds |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`suite`] | the steps of a test run: what they are, running them, the report |
//! | [`house`] | structure checks: file sizes, module circles, leftovers |
//! | [`workspace`] | what cargo knows about the workspace |
//! | [`error`] | why a run could not start or go on |

pub mod cli;
pub mod error;
pub mod house;
pub mod suite;
pub mod workspace;
