//! The program `leasehold`, run as users run it: with real processes and servers.

#![allow(
    clippy::unwrap_used,
    reason = "a test helper fails the test that calls it"
)]

mod connections;
mod exit_codes;
mod held_locks;
mod lease;
mod program;
mod rounds;
mod supervision;
mod terminal;
mod unread_errors;
mod writer;
