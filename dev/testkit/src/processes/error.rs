//! What can go wrong with a process.

use std::io;
use std::time::Duration;

/// Why a process did not do as it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// It could not be started.
    #[error("cannot start `{program}`: {source}; is it built, and may it be run?")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },

    /// It could not be signalled, waited for, or written to.
    #[error("cannot {what} `{program}`: {source}; has it ended already?")]
    Act {
        /// What was tried: `stop`.
        what: &'static str,
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },

    /// It has ended, and what we wait for will not come.
    #[error("`{program}` has ended while we waited for {what}; its last words:\n{last_words}")]
    Ended {
        /// The program.
        program: String,
        /// What was waited for.
        what: String,
        /// The end of its output and of its errors.
        last_words: String,
    },

    /// It took longer than the caller would wait.
    #[error("`{program}` did not come to {what} within {waited:?}; its last words:\n{last_words}")]
    Late {
        /// The program.
        program: String,
        /// What was waited for.
        what: String,
        /// For how long.
        waited: Duration,
        /// The end of its output and of its errors.
        last_words: String,
    },
}
