//! What a process is told.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::{Addresses, DataCell};
use crate::deployment::Locks;

/// What a process is told when it is started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// Where its locks are.
    pub locks: Locks,
    /// Whose data it changes.
    pub cell: DataCell,
    /// How many tasks it has for each store.
    pub tasks: usize,
    /// Where it notes what it does: this with `holds` and `changes` behind it.
    pub file: PathBuf,
    /// The stores, and where they are.
    pub stores: Vec<(String, String)>,
}

impl Orders {
    /// For stores at these addresses.
    #[must_use]
    pub fn new(locks: Locks, cell: DataCell, tasks: usize, stores: &Addresses) -> Self {
        let stores = stores.0.iter();
        Self {
            locks,
            cell,
            tasks,
            file: PathBuf::new(),
            stores: stores
                .map(|(kind, at)| ((*kind).to_owned(), at.clone()))
                .collect(),
        }
    }

    /// As an argument of a process.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
