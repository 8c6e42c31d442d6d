//! Contestants in other processes: this program again, which gets its orders as lines.

mod counted;
mod group;
mod orders;
mod worker;

pub(crate) use self::group::Workers;
pub(crate) use self::worker::work;
