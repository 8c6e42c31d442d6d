//! The shop's tables, in any of the databases.

mod item;
mod open;
mod table;

pub(crate) use self::item::{Count, Shelf, Tables};
pub(crate) use self::open::open;
