//! Tasks that acquire one key all the time.
//!
//! The number of acquisitions alone is misleading: one task can acquire its own lock many times while the others wait.
//! The relevant figures are how often the lock changes its owner, and how long the slowest tasks wait.

mod rush;
mod tally;

pub(crate) use self::rush::Rush;
pub(crate) use self::tally::{METRICS, Tally, Turn};
