//! `leasehold run`: a command that runs only while a lock is held.

mod channel;
mod deadline;
pub(crate) mod holder;
mod processes;
mod signals;
pub(crate) mod supervisor;
