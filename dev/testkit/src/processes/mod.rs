//! Processes which die with us, and which can be stopped and resumed.
//!
//! [`Process`] is any program, [`ChildProcess`] one of ours, whose lines we
//! read. Whatever ends a test, a panic, an abort or a `SIGKILL`, they end too.

mod child;
mod error;
mod group;
mod kill_guard;
mod lines;
mod process;

pub use child::{ChildBuilder, ChildProcess};
pub use error::ProcessError;
pub use group::ProcessGroup;
pub use process::Process;
