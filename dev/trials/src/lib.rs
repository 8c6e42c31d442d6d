//! Several processes that share locks, and what is done to them.
//!
//! | room | holds |
//! |---|---|
//! | [`fleet`] | the processes |
//! | [`soak`] | many acquisitions beside faults, and what grows |
//! | [`watch`] | what the server did for one key, in its own order |
//!
//! The binary `client` is one such process, and `soak` is the long form of [`soak`].

pub mod fleet;
pub mod soak;
pub mod watch;
