//! Which cell it is.

use std::time::Duration;

use crate::data::DataCell;
use crate::deployment::Kind;
use crate::fault::Fault;

/// One cell of the matrix.
#[derive(Debug, Clone)]
pub struct Cell {
    /// No other has it.
    pub number: DataCell,
    /// Where locks come from.
    pub kind: Kind,
    /// What happens.
    pub fault: Fault,
    /// For how long, at least.
    pub time: Duration,
    /// For chance.
    pub seed: u64,
}

impl Cell {
    /// What it is called: `redis/client-pause`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.kind, self.fault)
    }
}
