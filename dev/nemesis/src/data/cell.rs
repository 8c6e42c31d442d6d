//! The data of one cell.

use serde::{Deserialize, Serialize};

/// The number of a cell. Each cell has its own rows, keys and locks, so late writes of one cell do not affect the next
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataCell(pub i64);

impl DataCell {
    /// Returns the key of the lock for its data in a store, which is also the resource of the fences.
    #[must_use]
    pub fn resource(self, store: &str) -> String {
        format!("cell:{}:{store}", self.0)
    }
}

/// The kinds of data.
pub const STORES: [&str; 4] = ["postgres", "mariadb", "sqlite", "redis"];
