//! Connects to a database server.

use std::str::FromStr;

#[cfg(feature = "postgres")]
use sqlx::Connection;
#[cfg(feature = "mysql")]
use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlConnection};
#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnectOptions, PgConnection, Postgres};

use super::Connect;
#[cfg(feature = "postgres")]
use super::pooler_detection;
use crate::catalog::Answer;

/// The default of sqlx. On Postgres, one of the connections receives notifications.
const CONNECTIONS: u32 = 10;

#[cfg(feature = "mysql")]
impl Connect for MySql {
    const CONNECTIONS: u32 = CONNECTIONS;

    fn options(url: &str) -> Result<MySqlConnectOptions, sqlx::Error> {
        checked(url)
    }

    fn address(options: &MySqlConnectOptions) -> String {
        match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        }
    }

    /// Commits each statement, whatever the default of the server is. The statements name their rows by expressions that
    /// `sql_safe_updates` does not accept in all cases.
    fn set_session(connection: &mut MySqlConnection) -> Answer<'_, ()> {
        Box::pin(async move {
            let set = sqlx::raw_sql("SET SESSION autocommit = 1, sql_safe_updates = 0");
            set.execute(connection).await?;
            Ok(())
        })
    }
}

#[cfg(feature = "postgres")]
impl Connect for Postgres {
    const CONNECTIONS: u32 = CONNECTIONS;

    fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
        checked(url)
    }

    fn address(options: &PgConnectOptions) -> String {
        match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        }
    }

    fn is_pooled<'c>(
        connection: &'c mut PgConnection,
        options: &'c PgConnectOptions,
    ) -> Answer<'c, bool> {
        Box::pin(async move {
            let mut other = PgConnection::connect_with(options).await?;
            let is_pooled = pooler_detection::is_between(connection, &mut other).await;
            // The server closes the connection if this fails.
            let _closed = other.close().await;
            is_pooled
        })
    }

    fn without_prepared_statements(options: PgConnectOptions) -> PgConnectOptions {
        options.statement_cache_capacity(0)
    }
}

/// Parses a URL, unless a part of its password would count as another part of the URL, which errors may show.
fn checked<O: FromStr<Err = sqlx::Error>>(url: &str) -> Result<O, sqlx::Error> {
    let refused = |reason: &str| Err(sqlx::Error::Configuration(reason.into()));
    let Some((_, rest)) = url.split_once("://") else {
        return refused("it has no `://` after the scheme");
    };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if rest[authority..].contains('@') {
        return refused(
            "there is an `@` after the host: write `@`, `/`, `?` and `#` in the user and the password as %40, %2F, %3F and %23",
        );
    }
    url.parse()
}
