//! The error of a fenced pipeline.

use std::error::Error;

use crate::backend::{Applied, BackendError};
use crate::fence::Stale;

/// A [`FencedPipeline`](crate::FencedPipeline) was not executed, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FencedPipelineError {
    /// A newer token has been there. Nothing was executed.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// A command that cannot be sent. Nothing was.
    #[error("command {position} of the pipeline cannot be sent: {problem}")]
    Malformed {
        /// Which one, from 0 on.
        position: usize,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The server refused a command. Those before it have been executed; it and those behind it have not.
    #[error("command {position} of the pipeline, `{name}`, was refused: {answer}")]
    Command {
        /// Which one, from 0 on: as many have been executed.
        position: usize,
        /// What it was to do.
        name: String,
        /// What the server said.
        answer: String,
    },
    /// The store failed.
    #[error("the pipeline for `{resource}` failed")]
    Store {
        /// What was to be written.
        resource: String,
        /// Whether it may have been executed all the same.
        applied: Applied,
        /// What the store said.
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
