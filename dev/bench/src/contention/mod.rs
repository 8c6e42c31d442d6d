//! Tasks that want one key all the time.
//!
//! Acquisitions alone say little: a task that takes its own lock again and again has many, and the others wait. What
//! counts is how often the lock changes its owner, and how long the unlucky wait.

mod rush;
mod tally;

pub(crate) use self::rush::Rush;
pub(crate) use self::tally::{METRICS, Tally, Turn};
