//! The scope that is rolled back if a statement writes another number of rows than expected.

use sqlx::{Connection, Transaction};

use crate::database::FencedDatabase;

const SAVEPOINT: &str = "SAVEPOINT leasehold_rows";
const KEEP: &str = "RELEASE SAVEPOINT leasehold_rows";
const UNDO: &str = "ROLLBACK TO SAVEPOINT leasehold_rows; RELEASE SAVEPOINT leasehold_rows";

/// A transaction, or a savepoint in one.
pub(super) enum Scope<'c, DB: FencedDatabase> {
    Transaction(Transaction<'c, DB>),
    /// A savepoint that is set without sqlx's API. If the beginning of a savepoint of sqlx 0.9 fails or is dropped,
    /// sqlx rolls back the whole transaction. The database would then commit later statements individually.
    Savepoint(&'c mut DB::Connection),
}

impl<'c, DB: FencedDatabase> Scope<'c, DB> {
    pub(super) async fn begin(connection: &'c mut DB::Connection) -> Result<Self, sqlx::Error> {
        if !connection.is_in_transaction() {
            return Ok(Self::Transaction(connection.begin().await?));
        }
        DB::control(connection, SAVEPOINT).await?;
        Ok(Self::Savepoint(connection))
    }

    pub(super) fn connection(&mut self) -> &mut DB::Connection {
        match self {
            Self::Transaction(tx) => tx,
            Self::Savepoint(connection) => connection,
        }
    }

    pub(super) async fn keep(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Transaction(tx) => tx.commit().await,
            Self::Savepoint(connection) => DB::control(connection, KEEP).await,
        }
    }

    pub(super) async fn undo(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Transaction(tx) => tx.rollback().await,
            Self::Savepoint(connection) => DB::control(connection, UNDO).await,
        }
    }
}
