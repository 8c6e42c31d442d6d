use std::time::Duration;

use futures_core::future::BoxFuture;
use leasehold::FencingToken;
use sqlx::{Database, SqlStr};

use crate::isolation::Isolation;
use crate::rewrite::Dialect;

/// A statement with its values.
#[derive(Debug)]
pub struct Call<DB: Database> {
    /// The text.
    pub sql: SqlStr,
    /// The values.
    pub values: DB::Arguments,
    /// Whether the connection keeps it prepared.
    pub persistent: bool,
}

/// What a resource's row in `fences` says to a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It is the newest.
    Accepted,
    /// This one is newer.
    Newer(i64),
}

/// Why a claim that failed may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Another transaction held the row for too long.
    Locked,
    /// Another transaction has come between, and the database gave up this one.
    Conflict,
}

/// The type of a column.
#[derive(Debug)]
pub struct ColumnType {
    /// What the database calls it.
    pub name: String,
    /// Whether its values compare as whole numbers.
    pub is_integer: bool,
}

/// What the driver will answer.
pub(crate) type Answer<'c, T> = BoxFuture<'c, Result<T, sqlx::Error>>;

/// What is done in another way on each database. Not public outside this crate, whatever it says.
pub trait Driver: Database<Arguments: Clone> {
    /// Its language.
    const DIALECT: Dialect;

    /// Adds a number to the values of a statement.
    fn add(values: &mut Self::Arguments, number: i64) -> Result<(), sqlx::Error>;

    /// How many rows were written.
    fn written(result: &Self::QueryResult) -> u64;

    /// Sends a statement.
    fn execute(
        connection: &mut Self::Connection,
        call: Call<Self>,
    ) -> Answer<'_, Self::QueryResult>;

    /// Sends a statement that answers with rows.
    fn fetch(connection: &mut Self::Connection, call: Call<Self>) -> Answer<'_, Vec<Self::Row>>;

    /// Sends statements that begin or end something and have no values.
    fn control<'c>(connection: &'c mut Self::Connection, sql: &'static str) -> Answer<'c, ()>;

    /// Sends a question of two numbers: a count, and a largest token if there is one. If policies may hide some of these
    /// rows from the statement the second question, with the same values, tells.
    fn probe(
        connection: &mut Self::Connection,
        call: Call<Self>,
        confirmed: Option<SqlStr>,
    ) -> Answer<'_, (i64, Option<i64>)>;

    /// The statement that begins a transaction in which locks are waited for no longer than this.
    fn begin(isolation: Option<Isolation>, limit: Duration) -> String;

    /// Locks the row of a resource, and notes the token there if it is the newest.
    fn claim<'c>(
        connection: &'c mut Self::Connection,
        resource: &'c str,
        token: FencingToken,
    ) -> Answer<'c, Claim>;

    /// As `claim`, in the transaction that `begin` has begun, with its time limit.
    fn claim_within<'c>(
        connection: &'c mut Self::Connection,
        resource: &'c str,
        token: FencingToken,
        limit: Duration,
    ) -> Answer<'c, Claim>;

    /// Whether a failed claim may be tried again.
    fn obstacle(error: &sqlx::Error) -> Option<Obstacle>;

    /// Creates the table `fences` if it is not there.
    fn create_fences(connection: &mut Self::Connection) -> Answer<'_, ()>;

    /// The type of a table's column, if there is such a column. The table's name is checked before.
    fn column_type<'c>(
        connection: &'c mut Self::Connection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, Option<ColumnType>>;

    /// Adds the column, which was not there a moment ago.
    fn add_column<'c>(
        connection: &'c mut Self::Connection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, ()>;
}
