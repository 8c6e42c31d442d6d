//! The errors that prevent or end a run. A failed test is not an error, but part of the report.

use std::io;
use std::path::PathBuf;

use crate::install::InstallError;

/// The reason why a command of `cargo xtask` failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line is not a known command.
    #[error("{0}")]
    Usage(String),

    /// No step's name contains what `--only` asked for.
    #[error("no step is called {wanted:?}; the steps are:\n  {}", .known.join("\n  "))]
    UnknownStep {
        /// The text of `--only`.
        wanted: String,
        /// The names of all steps.
        known: Vec<String>,
    },

    /// A tool the tests need is not installed.
    #[error("`{tool}` does not run ({why}); to install it: {remedy}")]
    MissingTool {
        /// The name of the tool.
        tool: String,
        /// The error of the call.
        why: String,
        /// The command that installs the tool.
        remedy: &'static str,
    },

    /// A server of the tests is missing, and cannot be installed.
    #[error(transparent)]
    Install(#[from] InstallError),

    /// A program could not be started or waited for.
    #[error("cannot run `{command}`: {source}")]
    Run {
        /// The command line.
        command: String,
        /// The error of the system.
        source: io::Error,
    },

    /// `cargo metadata` failed or returned an unexpected answer.
    #[error("`cargo metadata` is no help: {0}")]
    Metadata(String),

    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },

    /// A source file cannot be parsed.
    #[error("{file}:{line}: not parsed: {why}")]
    Parse {
        /// The file, relative to the workspace's root.
        file: String,
        /// The line in the file.
        line: usize,
        /// The error of the parser.
        why: String,
    },
}
