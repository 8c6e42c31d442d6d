//! The errors of histories.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why a history cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file cannot be written or read.
    #[error("cannot use the history {}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },

    /// A line is not an event.
    #[error("this line of a history is no event: {0}; was something else printed into the file?")]
    Line(String),

    /// An event belongs to a lock that was never granted.
    #[error("hold {0:x} was never granted; is the file of its process missing?")]
    NeverGranted(u64),
}

impl HistoryError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::File { path, source }
    }
}
