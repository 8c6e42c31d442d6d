//! What can go wrong with a history.

use std::io;
use std::path::{Path, PathBuf};

/// Why a history cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// Its file cannot be written or read.
    #[error("cannot use the history {}: {source}", .path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A line is no event.
    #[error("this line of a history is no event: {0}; was something else printed into the file?")]
    Line(String),

    /// A hold goes on or ends that has never been granted.
    #[error("hold {0:x} was never granted; is the file of its process missing?")]
    NeverGranted(u64),
}

impl HistoryError {
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::File { path, source }
    }
}
