//! What happened, and whether it was allowed to.
//!
//! Holders note their events with a [`Recorder`], each in its own process if
//! need be; a [`History`] brings them together and finds what no lock may do.
//!
//! A hold is noted from after its grant to before its release, so that what is
//! noted is no longer than what was. Two noted holds which overlap were two
//! holders at once.
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
