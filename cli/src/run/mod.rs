//! `leasehold run`: a command that runs only while a lock is held.

mod command_deadline;
mod command_descendants;
pub(crate) mod holder;
mod holder_channel;
mod signals;
pub(crate) mod supervisor;
