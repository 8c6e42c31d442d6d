//! `leasehold run`: a command that runs only while a lock is held.

mod child_processes;
mod command_deadline;
pub(crate) mod holder;
mod holder_channel;
mod signals;
pub(crate) mod supervisor;
