//! Why a run could not start or go on. A test that fails is not an error but
//! part of the report.

use std::io;
use std::path::PathBuf;

/// Why a command of `cargo xtask` could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line is not one we know.
    #[error("{0}")]
    Usage(String),

    /// No step's name contains what `--only` asked for.
    #[error("no step is called {wanted:?}; the steps are:\n  {}", .known.join("\n  "))]
    UnknownStep {
        /// What was asked for.
        wanted: String,
        /// Every step there is.
        known: Vec<String>,
    },

    /// A tool the tests need is not installed.
    #[error("`{tool}` does not run ({why}); to install it: {remedy}")]
    MissingTool {
        /// How the tool is called.
        tool: String,
        /// What happened on calling it.
        why: String,
        /// What to type.
        remedy: &'static str,
    },

    /// A program could not be started or waited for.
    #[error("cannot run `{command}`: {source}")]
    Run {
        /// The command line.
        command: String,
        /// What the system said.
        source: io::Error,
    },

    /// `cargo metadata` failed or answered something we cannot read.
    #[error("`cargo metadata` is no help: {0}")]
    Metadata(String),

    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A source file is not Rust as we know it.
    #[error("{file}:{line}: not parsed: {why}")]
    Parse {
        /// The file, from the workspace's root.
        file: String,
        /// Where in the file.
        line: usize,
        /// What the parser said.
        why: String,
    },
}
