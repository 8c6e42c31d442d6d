//! The tables of Leasehold in a database.
//!
//! **Unstable**: the tables of `leasehold-sqlx` use this, too.

mod ensure_table;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::future::ready;

use futures_core::future::BoxFuture;
use sqlx::Database;

pub use self::ensure_table::{Table, TableError, ensure};

/// The future of a request to the database.
pub type Answer<'c, T> = BoxFuture<'c, Result<T, sqlx::Error>>;

/// The reason why a failed statement can be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Another transaction held the row for too long.
    Locked,
    /// The database aborted the transaction because of a concurrent one.
    Conflict,
}

/// The tables of a database, as a connection sees them.
pub trait Catalog: Database {
    /// Returns why a failed statement can be retried, or `None` if it cannot.
    fn obstacle(error: &sqlx::Error) -> Option<Obstacle>;

    /// Returns the columns of a table, as statements of this connection see it, or nothing if they see no such table.
    fn columns<'c>(
        connection: &'c mut Self::Connection,
        table: &'static str,
    ) -> Answer<'c, Vec<String>>;

    /// Returns the full name of a table with this name that statements of this connection do not see.
    fn in_other_schema<'c>(
        connection: &'c mut Self::Connection,
        table: &'static str,
    ) -> Answer<'c, Option<String>> {
        let (_, _) = (connection, table);
        Box::pin(ready(Ok(None)))
    }

    /// Returns the storage engine of a table if it has no transactions.
    fn unsafe_engine<'c>(
        connection: &'c mut Self::Connection,
        table: &'static str,
    ) -> Answer<'c, Option<String>> {
        let (_, _) = (connection, table);
        Box::pin(ready(Ok(None)))
    }

    /// Executes statements that create a table if it does not exist.
    fn create<'c>(connection: &'c mut Self::Connection, sql: &'static str) -> Answer<'c, ()>;
}
