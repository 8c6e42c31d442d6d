//! Records the events of holders, and checks whether they are allowed.
//!
//! Holders record their events with a [`Recorder`], possibly in separate processes. A [`History`] combines the events,
//! and finds violations of the guarantees of locks.
//!
//! A held lock is recorded from after its grant to before its release, so the recorded time is never longer than the
//! real time. If two recorded times overlap, there were two holders at the same time.
//!
//! ```
//! # use leasehold_testkit::history::{Moment, Recorder};
//! let recorder = Recorder::in_memory();
//! let requested_at = Moment::now();
//! // … acquire …
//! let hold = recorder.granted("key", 7, requested_at);
//! // … work …
//! hold.ended();
//! // … release …
//! recorder.history()?.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checks;
mod error;
mod event;
mod holds;
mod lines;
mod moment;
mod recorder;
mod specification;
mod violation;

pub use error::HistoryError;
pub use event::Event;
pub use holds::{History, Hold};
pub use lines::{JsonLines, read_lines};
pub use moment::Moment;
pub use recorder::{Noted, Recorder};
pub use specification::{Breach, Mode, Queue, Specification};
pub use violation::{Violation, Violations};
