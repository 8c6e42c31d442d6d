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

/// The kinds of data. The kinds with a pool are rows in the same databases, written through a
/// [`FencedPool`](leasehold_sqlx::FencedPool) by code that does not use a token.
pub const STORES: [&str; 7] = [
    "postgres",
    "mariadb",
    "sqlite",
    "redis",
    "postgres-pool",
    "mariadb-pool",
    "sqlite-pool",
];

/// Returns whether a kind of data is written through a fenced pool.
#[must_use]
pub fn is_pool(store: &str) -> bool {
    store.ends_with("-pool")
}
