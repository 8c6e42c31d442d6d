//! The options of a connection for locks, and the preparation of a database.

#[cfg(feature = "postgres")]
pub(super) mod pooler_detection;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod server;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
pub(super) mod sqlite_file_aliases;

use std::future::ready;

use sqlx::{Connection, Database};

use crate::catalog::{Answer, Catalog};

/// The options of a connection.
pub(super) type Options<DB> = <<DB as Database>::Connection as Connection>::Options;

/// How to connect to a database.
pub trait Connect: Catalog {
    /// The largest number of connections of the pool.
    const CONNECTIONS: u32;

    /// Returns the options of a URL. The error must not contain the URL.
    fn options(url: &str) -> Result<Options<Self>, sqlx::Error>;

    /// Returns the address of the database without a password, for errors.
    fn address(options: &Options<Self>) -> String;

    /// Sets the variables of a new session that the statements of the locks depend on.
    fn set_session(connection: &mut Self::Connection) -> Answer<'_, ()> {
        let _is_set = connection;
        Box::pin(ready(Ok(())))
    }

    /// Returns whether a pooler in transaction mode is in front of the server.
    fn is_pooled<'c>(
        connection: &'c mut Self::Connection,
        options: &'c Options<Self>,
    ) -> Answer<'c, bool> {
        let (_, _) = (connection, options);
        Box::pin(ready(Ok(false)))
    }

    /// Returns the options of connections that send only simple queries.
    fn without_prepared_statements(options: Options<Self>) -> Options<Self> {
        options
    }

    /// Sets the database up for locks. Returns the reason and the remedy if it cannot store locks.
    fn set_up(connection: &mut Self::Connection) -> Answer<'_, Option<&'static str>> {
        let _is_set_up = connection;
        Box::pin(ready(Ok(None)))
    }
}
