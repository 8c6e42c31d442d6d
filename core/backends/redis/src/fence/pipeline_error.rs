//! The error of a fenced pipeline.

use std::error::Error;

use leasehold_core::Stale;
use leasehold_core::backend::{Applied, BackendError};

/// A [`FencedPipeline`](crate::FencedPipeline) was not executed, or only in part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FencedPipelineError {
    /// A newer token was admitted before. Nothing was executed.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// A command cannot be sent. Nothing was sent.
    #[error("command {position} of the pipeline cannot be sent: {problem}")]
    Malformed {
        /// The position of the command, counted from 0.
        position: usize,
        /// The problem, and the remedy.
        problem: String,
    },
    /// The server refused a command. Earlier commands have been executed; this command and later commands have not.
    #[error("command {position} of the pipeline, `{name}`, was refused: {answer}")]
    Command {
        /// The position of the command, counted from 0. This is also the number of executed commands.
        position: usize,
        /// The command's name.
        name: String,
        /// The server's error.
        answer: String,
    },
    /// The store failed.
    #[error("the pipeline for `{resource}` failed")]
    Store {
        /// The resource that was to be written.
        resource: String,
        /// Whether the pipeline may have been executed anyway.
        applied: Applied,
        /// The error of the store.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl FencedPipelineError {
    pub(super) fn failed(resource: &str, source: BackendError) -> Self {
        Self::Store {
            resource: resource.to_owned(),
            applied: source.applied(),
            source: source.into(),
        }
    }
}
