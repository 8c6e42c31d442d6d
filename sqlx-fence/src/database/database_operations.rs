use std::time::Duration;

use futures_core::stream::BoxStream;
use leasehold_core::FencingToken;
use sqlx::error::BoxDynError;
use sqlx::{Database, Describe, Either, Execute, Pool, SqlStr};

use crate::idempotency_record::IdempotencyRecord;
use crate::isolation_level::Isolation;
use crate::rewrite::Dialect;
use leasehold_sql::catalog::{Answer, Catalog, Table};

/// A statement with its values.
#[derive(Debug)]
pub struct Call<DB: Database> {
    /// The text of the statement.
    pub sql: SqlStr,
    /// The bound values, or `None` if the statement is not prepared.
    pub values: Option<DB::Arguments>,
    /// Whether the connection keeps the prepared statement.
    pub persistent: bool,
}

impl<DB: Database> Call<DB> {
    /// Splits a statement of sqlx into its text and its values.
    pub(crate) fn of<'q>(mut built: impl Execute<'q, DB>) -> Result<Self, sqlx::Error> {
        let persistent = built.persistent();
        let values = built.take_arguments().map_err(sqlx::Error::Encode)?;
        Ok(Self {
            sql: built.sql(),
            values,
            persistent,
        })
    }
}

impl<DB: Database> Execute<'_, DB> for Call<DB> {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&DB::Statement> {
        // `None` is enough, because a connection finds a prepared statement by its text.
        None
    }

    fn take_arguments(&mut self) -> Result<Option<DB::Arguments>, BoxDynError> {
        Ok(self.values.take())
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}

/// The result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The token is the newest.
    Accepted,
    /// The row has this newer token.
    Newer(i64),
}

/// The type of a column.
#[derive(Debug)]
pub struct ColumnType {
    /// The name of the type in the database.
    pub name: String,
    /// Whether values of the type compare as integers.
    pub is_integer: bool,
}

/// The rows and results of a driver call, as in sqlx's `fetch_many`.
pub(crate) type Many<'c, DB> = BoxStream<
    'c,
    Result<Either<<DB as Database>::QueryResult, <DB as Database>::Row>, sqlx::Error>,
>;

/// The operations that differ between databases. Although this trait is `pub`, other crates cannot name it.
pub trait Driver: Catalog + Database<Arguments: Clone> {
    /// The SQL dialect.
    const DIALECT: Dialect;

    /// Adds a number to the values of a statement.
    fn add(values: &mut Self::Arguments, number: i64) -> Result<(), sqlx::Error>;

    /// Returns the number of written rows.
    fn written(result: &Self::QueryResult) -> u64;

    /// Sends a statement, and returns its rows and results.
    fn many(connection: &mut Self::Connection, call: Call<Self>) -> Many<'_, Self>;

    /// Acquires a connection of the pool, and sends the statement as `many` does.
    fn many_of_pool(pool: &Pool<Self>, call: Call<Self>) -> Many<'static, Self>;

    /// Sends a statement, and returns its first row.
    fn optional(
        connection: &mut Self::Connection,
        call: Call<Self>,
    ) -> Answer<'_, Option<Self::Row>>;

    /// Prepares a statement.
    fn prepare<'c>(
        connection: &'c mut Self::Connection,
        sql: SqlStr,
        types: &'c [Self::TypeInfo],
    ) -> Answer<'c, Self::Statement>;

    /// Returns the types of a statement.
    fn describe(connection: &mut Self::Connection, sql: SqlStr) -> Answer<'_, Describe<Self>>;

    /// Sends statements without values that control a transaction.
    fn control<'c>(connection: &'c mut Self::Connection, sql: &'static str) -> Answer<'c, ()>;

    /// Sends a query that counts rows, and returns the count and the largest token if there is one. If policies can
    /// hide some of these rows from the statement, sends the query `confirmed` with the same values instead.
    fn probe(
        connection: &mut Self::Connection,
        call: Call<Self>,
        confirmed: Option<SqlStr>,
    ) -> Answer<'_, (i64, Option<i64>)>;

    /// Returns the statement that begins a transaction. A time limit for waiting for locks is for a claim that follows.
    fn begin(isolation: Option<Isolation>, limit: Option<Duration>) -> String;

    /// Locks the row of a resource, and stores the token there if it is the newest.
    fn claim<'c>(
        connection: &'c mut Self::Connection,
        resource: &'c str,
        token: FencingToken,
    ) -> Answer<'c, Claim>;

    /// Claims as `claim` does, in a transaction that `begin` has begun with this time limit.
    fn claim_within<'c>(
        connection: &'c mut Self::Connection,
        resource: &'c str,
        token: FencingToken,
        limit: Duration,
    ) -> Answer<'c, Claim>;

    /// The table `leasehold_fences`.
    const FENCES: Table;

    /// The table `leasehold_idempotency_records`.
    const IDEMPOTENCY_RECORDS: Table;

    /// Returns the record of an idempotency key, and the seconds until it expires.
    fn find_record<'c>(
        connection: &'c mut Self::Connection,
        key: &'c str,
    ) -> Answer<'c, Option<(IdempotencyRecord, i64)>>;

    /// Inserts a record that expires after a number of seconds. Fails if a record of the key exists.
    fn insert_record<'c>(
        connection: &'c mut Self::Connection,
        record: &'c IdempotencyRecord,
        seconds: i64,
    ) -> Answer<'c, ()>;

    /// Deletes the record of this key if it has expired, or without a key all expired records. Returns the number of
    /// deleted records.
    fn delete_expired_records<'c>(
        connection: &'c mut Self::Connection,
        key: Option<&'c str>,
    ) -> Answer<'c, u64>;

    /// Returns the type of a column, if the column exists. The caller has checked the name of the table.
    fn column_type<'c>(
        connection: &'c mut Self::Connection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, Option<ColumnType>>;

    /// Adds the column. The caller has checked that the column does not exist, but another process may add the column
    /// concurrently.
    fn add_column<'c>(
        connection: &'c mut Self::Connection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, ()>;
}

/// Implements the calls that sqlx has for each database.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
macro_rules! calls_of_sqlx {
    () => {
        fn many(connection: &mut Self::Connection, call: Call<Self>) -> Many<'_, Self> {
            sqlx::Executor::fetch_many(connection, call)
        }

        fn many_of_pool(pool: &sqlx::Pool<Self>, call: Call<Self>) -> Many<'static, Self> {
            sqlx::Executor::fetch_many(pool, call)
        }

        fn optional(
            connection: &mut Self::Connection,
            call: Call<Self>,
        ) -> Answer<'_, Option<Self::Row>> {
            sqlx::Executor::fetch_optional(connection, call)
        }

        fn prepare<'c>(
            connection: &'c mut Self::Connection,
            sql: SqlStr,
            types: &'c [Self::TypeInfo],
        ) -> Answer<'c, Self::Statement> {
            sqlx::Executor::prepare_with(connection, sql, types)
        }

        fn describe(
            connection: &mut Self::Connection,
            sql: SqlStr,
        ) -> Answer<'_, sqlx::Describe<Self>> {
            sqlx::Executor::describe(connection, sql)
        }
    };
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) use calls_of_sqlx;
