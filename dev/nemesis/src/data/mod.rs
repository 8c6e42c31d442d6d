//! What is changed: in each cell a counter with a list and a trail under a fence, and the same without one.

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
