//! The orders of a process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::{Addresses, DataCell};
use crate::deployment::Locks;

/// The orders that a process gets at its start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// How to connect to the locks.
    pub locks: Locks,
    /// The cell whose data it changes.
    pub cell: DataCell,
    /// The number of tasks for each store.
    pub tasks: usize,
    /// Whether the tasks poll for the lock instead of queueing, and most turns are long. The queue of a former primary
    /// often contains the same next holder, so a failover without a queue is worse.
    pub polls: bool,
    /// The beginning of the names of its record files, followed by `holds` or `changes`.
    pub file: PathBuf,
    /// The stores with their addresses.
    pub stores: Vec<(String, String)>,
}

impl Orders {
    /// Creates orders for the stores at these addresses.
    #[must_use]
    pub fn new(locks: Locks, cell: DataCell, tasks: usize, stores: &Addresses) -> Self {
        let stores = stores.0.iter();
        Self {
            locks,
            cell,
            tasks,
            polls: false,
            file: PathBuf::new(),
            stores: stores
                .map(|(kind, at)| ((*kind).to_owned(), at.clone()))
                .collect(),
        }
    }

    /// Returns the orders as an argument of a process.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
