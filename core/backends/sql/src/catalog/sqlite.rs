//! The tables on `SQLite`.

use sqlx::error::DatabaseError;
use sqlx::{Sqlite, SqliteConnection, query_scalar};

use super::{Answer, Catalog, Obstacle};

const COLUMNS: &str = "SELECT name FROM pragma_table_info($1)";

impl Catalog for Sqlite {
    fn obstacle(error: &sqlx::Error) -> Option<Obstacle> {
        match error
            .as_database_error()
            .and_then(DatabaseError::code)?
            .as_ref()
        {
            "5" | "6" | "261" | "262" => Some(Obstacle::Locked),
            "517" => Some(Obstacle::Conflict),
            _ => None,
        }
    }

    fn columns<'c>(
        connection: &'c mut SqliteConnection,
        table: &'static str,
    ) -> Answer<'c, Vec<String>> {
        Box::pin(query_scalar(COLUMNS).bind(table).fetch_all(connection))
    }

    fn create<'c>(connection: &'c mut SqliteConnection, sql: &'static str) -> Answer<'c, ()> {
        Box::pin(async move {
            sqlx::raw_sql(sql).execute(connection).await?;
            Ok(())
        })
    }
}
