//! What every store can do.

use std::time::Duration;

use async_trait::async_trait;
use leasehold::FencingToken;

use super::cell::DataCell;
use crate::BoxError;
use crate::judge::{Ledger, Trail};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What is written under a fence.
    Fenced,
    /// What is written without one.
    Control,
}

/// Why a change was not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It was surely not done.
    Refused,
    /// It may have been done, or may be still.
    Unknown,
}

/// A store as a process sees it. What has no fence does what the lock alone promises to be safe.
#[async_trait]
pub trait Store: Send + Sync {
    /// Makes the empty data of a cell.
    async fn prepare(&self, cell: DataCell) -> Result<(), BoxError>;

    /// What is there.
    async fn ledger(&self, cell: DataCell, side: Side) -> Result<Ledger, BoxError>;

    /// What is there.
    async fn trail(&self, cell: DataCell, side: Side) -> Result<Trail, BoxError>;

    /// Claims, reads, thinks for so long, and writes. Answers what it has read.
    async fn change(
        &self,
        cell: DataCell,
        token: FencingToken,
        id: &str,
        think: Duration,
    ) -> Result<Ledger, Failure>;

    /// Writes without having read.
    async fn append(&self, cell: DataCell, token: FencingToken, id: &str) -> Result<(), Failure>;

    /// Writes over what is there.
    async fn overwrite(&self, cell: DataCell, ledger: &Ledger) -> Result<(), Failure>;

    /// Writes without having read, and without a fence.
    async fn append_freely(
        &self,
        cell: DataCell,
        token: FencingToken,
        id: &str,
    ) -> Result<(), Failure>;
}
