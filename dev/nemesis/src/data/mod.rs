//! The changed data: each cell has a counter with a list and a trail, with a fence and without one.
//!
//! Some kinds of data are fenced with the token of the holder, and others are written through a fenced pool, by code
//! that does not use a token.

mod cell;
mod connect;
mod links;
mod mariadb;
mod postgres;
mod redis;
mod sql;
mod sqlite;
mod store;

pub use cell::{DataCell, STORES, is_pool};
pub use connect::connect;
pub use links::{Addresses, Links, Servers};
pub use store::{Failure, Side, Store};
