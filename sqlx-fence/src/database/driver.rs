use std::time::Duration;

use futures_core::future::BoxFuture;
use leasehold::FencingToken;
use sqlx::{Database, SqlStr};

use crate::isolation::Isolation;
use crate::rewrite::Dialect;

/// A statement with its values.
#[derive(Debug)]
pub struct Call<DB: Database> {
    /// The text of the statement.
    pub sql: SqlStr,
    /// The bound values.
    pub values: DB::Arguments,
    /// Whether the connection keeps the prepared statement.
    pub persistent: bool,
}

/// The result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The token is the newest.
    Accepted,
    /// The row has this newer token.
    Newer(i64),
}

/// The reason why a failed claim can be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Another transaction held the row for too long.
    Locked,
    /// The database aborted the transaction because of a concurrent one.
    Conflict,
}

/// The type of a column.
#[derive(Debug)]
pub struct ColumnType {
    /// The name of the type in the database.
    pub name: String,
    /// Whether values of the type compare as integers.
    pub is_integer: bool,
}

/// The future of a driver call.
pub(crate) type Answer<'c, T> = BoxFuture<'c, Result<T, sqlx::Error>>;

/// The operations that differ between databases. Although this trait is `pub`, other crates cannot name it.
pub trait Driver: Database<Arguments: Clone> {
    /// The SQL dialect.
    const DIALECT: Dialect;

    /// Adds a number to the values of a statement.
    fn add(values: &mut Self::Arguments, number: i64) -> Result<(), sqlx::Error>;

    /// Returns how many rows were written.
    fn written(result: &Self::QueryResult) -> u64;

    /// Sends a statement.
    fn execute(
        connection: &mut Self::Connection,
        call: Call<Self>,
    ) -> Answer<'_, Self::QueryResult>;

    /// Sends a statement that returns rows.
    fn fetch(connection: &mut Self::Connection, call: Call<Self>) -> Answer<'_, Vec<Self::Row>>;

    /// Sends statements without values that control a transaction.
    fn control<'c>(connection: &'c mut Self::Connection, sql: &'static str) -> Answer<'c, ()>;

    /// Sends a query that counts rows, and returns the count and the largest token if there is one. If policies can
    /// hide some of these rows from the statement, sends the query `confirmed` with the same values instead.
    fn probe(
        connection: &mut Self::Connection,
        call: Call<Self>,
        confirmed: Option<SqlStr>,
    ) -> Answer<'_, (i64, Option<i64>)>;

    /// Returns the statement that begins a transaction with a time limit for waiting for locks.
    fn begin(isolation: Option<Isolation>, limit: Duration) -> String;

    /// Locks the row of a resource, and stores the token there if it is the newest.
    fn claim<'c>(
        connection: &'c mut Self::Connection,
        resource: &'c str,
        token: FencingToken,
    ) -> Answer<'c, Claim>;

    /// Like `claim`, in the transaction that `begin` has begun, with its time limit.
    fn claim_within<'c>(
        connection: &'c mut Self::Connection,
        resource: &'c str,
        token: FencingToken,
        limit: Duration,
    ) -> Answer<'c, Claim>;

    /// Returns whether a failed claim can be retried.
    fn obstacle(error: &sqlx::Error) -> Option<Obstacle>;

    /// Creates the table `fences` if it does not exist.
    fn create_fences(connection: &mut Self::Connection) -> Answer<'_, ()>;

    /// Returns the type of a column, if the column exists. The caller has checked the name of the table.
    fn column_type<'c>(
        connection: &'c mut Self::Connection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, Option<ColumnType>>;

    /// Adds the column. The caller has checked that it does not exist, but another process may add it concurrently.
    fn add_column<'c>(
        connection: &'c mut Self::Connection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, ()>;
}
