//! Several processes that share locks, and what is done to them.
//!
//! | room | holds |
//! |---|---|
//! | [`fleet`] | the processes |
//! | [`watch`] | what the server did for one key, in its own order |
//!
//! The binary `client` is one such process.

pub mod fleet;
pub mod watch;
