//! The errors of processes.

use std::io;
use std::time::Duration;

/// The reason why an operation on a process failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The process could not be started.
    #[error("cannot start `{program}`: {source}; is it built, and may it be run?")]
    Start {
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },

    /// The process could not be signalled, waited for, or written to.
    #[error("cannot {what} `{program}`: {source}; has it ended already?")]
    Act {
        /// The operation, such as `stop`.
        what: &'static str,
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },

    /// The process has ended before the awaited event.
    #[error("`{program}` has ended while we waited for {what}; its last words:\n{last_words}")]
    Ended {
        /// The program.
        program: String,
        /// The awaited event.
        what: String,
        /// The end of its output and error output.
        last_words: String,
    },

    /// The timeout of the caller has elapsed.
    #[error("`{program}` did not come to {what} within {waited:?}; its last words:\n{last_words}")]
    Late {
        /// The program.
        program: String,
        /// The awaited event.
        what: String,
        /// The timeout.
        waited: Duration,
        /// The end of its output and error output.
        last_words: String,
    },
}
