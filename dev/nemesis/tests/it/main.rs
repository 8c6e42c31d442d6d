//! Locks and data of several processes during faults.

mod matrix;
mod processes;
mod short_lease;
