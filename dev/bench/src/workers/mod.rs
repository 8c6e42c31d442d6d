//! Contestants in processes of their own: this program again, told by lines what to do.

mod counted;
mod group;
mod orders;
mod worker;

pub(crate) use self::group::Workers;
pub(crate) use self::worker::work;
