//! Many statements, each prepared and executed on the real server: they do what they do without a fence, a newer
//! token stops them, and what cannot be fenced is refused with its place and a remedy.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod case;
mod common;
mod differential;
mod expressions;
mod fuzz;
mod inserts;
mod joins;
mod judge;
mod mysql;
mod placed;
mod postgres;
mod random;
mod refused;
mod sources;
mod sqlite;
