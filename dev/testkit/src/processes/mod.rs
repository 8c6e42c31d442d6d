//! Child processes that end with this process, and that can be stopped and continued.
//!
//! [`Process`] is any program. [`ChildProcess`] is a program of this project, whose lines are read. All of them end if
//! the test ends by a panic, an abort or a `SIGKILL`.

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
