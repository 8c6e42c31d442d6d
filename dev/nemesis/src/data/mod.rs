//! The changed data: each cell has a counter with a list and a trail, with a fence and without one.

mod cell;
mod connect;
mod links;
mod mariadb;
mod postgres;
mod redis;
mod sql;
mod sqlite;
mod store;

pub use cell::{DataCell, STORES};
pub use connect::connect;
pub use links::{Addresses, Links, Servers};
pub use store::{Failure, Side, Store};
