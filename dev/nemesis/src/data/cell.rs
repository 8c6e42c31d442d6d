//! What belongs to one cell.

use serde::{Deserialize, Serialize};

/// The number of a cell. Each has rows, keys and locks of its own, so that what is late in one is nothing to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataCell(pub i64);

impl DataCell {
    /// The lock on its data in a store, and what that data is called to fences.
    #[must_use]
    pub fn resource(self, store: &str) -> String {
        format!("cell:{}:{store}", self.0)
    }
}

/// The kinds of data there are.
pub const STORES: [&str; 4] = ["postgres", "mariadb", "sqlite", "redis"];
