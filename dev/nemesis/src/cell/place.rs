//! Identifies a cell.

use std::time::Duration;

use crate::data::DataCell;
use crate::deployment::Kind;
use crate::fault::Fault;

/// One cell of the matrix.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The unique number of the cell.
    pub number: DataCell,
    /// The deployment of the locks.
    pub kind: Kind,
    /// The fault.
    pub fault: Fault,
    /// The minimum duration.
    pub time: Duration,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Cell {
    /// Returns the name, such as `redis/client-pause`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.kind, self.fault)
    }
}
