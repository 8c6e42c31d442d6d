//! Prepares and executes many statements on real servers. Fenced statements have the same effect as without a fence,
//! and do not write rows with newer tokens. Statements that cannot be fenced are refused with the position and a
//! remedy.

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
