//! How far a run has come, in a file, so that the next run continues there.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::Error;

/// The position of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The seed of this round. Each round has the next one.
    pub seed: u64,
    /// The number of explorations of this round that have run.
    pub done: usize,
}

impl Position {
    /// The position before the first round.
    pub const FIRST: Self = Self { seed: 1, done: 0 };

    /// Reads the position from a file, or returns the first position if there is none.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let read: Value = serde_json::from_str(&text).unwrap_or_default();
        let number = |name: &str| read[name].as_u64();
        let done = number("done").and_then(|it| it.try_into().ok());
        match (number("seed"), done) {
            (Some(seed), Some(done)) => Self { seed, done },
            _ => Self::FIRST,
        }
    }

    /// Returns the position after one more of `all` explorations.
    #[must_use]
    pub fn next(self, all: usize) -> Self {
        if self.done + 1 < all {
            Self {
                done: self.done + 1,
                ..self
            }
        } else {
            Self {
                seed: self.seed + 1,
                done: 0,
            }
        }
    }

    /// Writes the position to a file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Read`] if the file cannot be written.
    pub fn write(self, path: &Path) -> Result<(), Error> {
        let text = json!({ "seed": self.seed, "done": self.done }).to_string();
        fs::write(path, text).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })
    }
}
