//! Contestants in processes of their own: this program again, told by lines what to do.

mod counted;
mod orders;
mod ships;
mod worker;

pub(crate) use self::ships::Fleet;
pub(crate) use self::worker::work;
