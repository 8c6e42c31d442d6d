//! The operations of every store.

use std::time::Duration;

use async_trait::async_trait;
use leasehold::FencingToken;

use super::cell::DataCell;
use crate::BoxError;
use crate::judge::{Ledger, Trail};

/// One of the two sides of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Data that is written with a fence.
    Fenced,
    /// Data that is written without a fence.
    Control,
}

/// Why a change was not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The change was definitely not made.
    Refused,
    /// The change may have been made, or may still be.
    Unknown,
}

/// A store, as a process uses it. Writes without a fence rely only on the lock.
#[async_trait]
pub trait Store: Send + Sync {
    /// Creates the empty data of a cell.
    async fn prepare(&self, cell: DataCell) -> Result<(), BoxError>;

    /// Reads the ledger.
    async fn ledger(&self, cell: DataCell, side: Side) -> Result<Ledger, BoxError>;

    /// Reads the trail.
    async fn trail(&self, cell: DataCell, side: Side) -> Result<Trail, BoxError>;

    /// Claims the resource, reads, waits for `think`, and writes. Returns the ledger that was read. A pool ignores the
    /// token, and uses the lock that the task holds.
    async fn change(
        &self,
        cell: DataCell,
        token: FencingToken,
        id: &str,
        think: Duration,
    ) -> Result<Ledger, Failure>;

    /// Appends an entry to the trail without reading. A pool ignores the token.
    async fn append(&self, cell: DataCell, token: FencingToken, entry: &str)
    -> Result<(), Failure>;

    /// Replaces the ledger.
    async fn overwrite(&self, cell: DataCell, ledger: &Ledger) -> Result<(), Failure>;

    /// Appends an entry to the trail without reading, and without a fence.
    async fn append_freely(&self, cell: DataCell, entry: &str) -> Result<(), Failure>;
}
