//! The tables on `MySQL` and `MariaDB`.

use sqlx::mysql::MySqlDatabaseError;
use sqlx::{MySql, MySqlConnection, Row};

use super::{Answer, Catalog, Obstacle};

/// The engines without transactions. They also have no locks of rows.
const UNSAFE_ENGINES: [&str; 5] = ["MyISAM", "Aria", "MEMORY", "CSV", "ARCHIVE"];

impl Catalog for MySql {
    fn obstacle(error: &sqlx::Error) -> Option<Obstacle> {
        match number(error)? {
            1205 => Some(Obstacle::Locked),
            1020 | 1213 => Some(Obstacle::Conflict),
            _ => None,
        }
    }

    /// Uses `SHOW COLUMNS`, as `column_type` does. The server hides a missing table from a role without any right on it.
    fn columns<'c>(
        connection: &'c mut MySqlConnection,
        table: &'static str,
    ) -> Answer<'c, Vec<String>> {
        Box::pin(async move {
            let sql = format!("SHOW COLUMNS FROM {table}");
            let found = sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).fetch_all(connection);
            match found.await {
                // Some servers return the name as text, and others return it as bytes.
                Ok(rows) => rows
                    .iter()
                    .map(|it| it.try_get_unchecked("Field"))
                    .collect(),
                Err(missing) if matches!(number(&missing), Some(1142 | 1146)) => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        })
    }

    fn unsafe_engine<'c>(
        connection: &'c mut MySqlConnection,
        table: &'static str,
    ) -> Answer<'c, Option<String>> {
        Box::pin(async move {
            let sql = format!("SHOW TABLE STATUS WHERE Name = '{table}'");
            let found = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
            let Some(row) = found.fetch_optional(connection).await? else {
                return Ok(None);
            };
            let engine: Option<String> = row.try_get_unchecked("Engine")?;
            Ok(engine.filter(|it| {
                UNSAFE_ENGINES
                    .iter()
                    .any(|other| it.eq_ignore_ascii_case(other))
            }))
        })
    }

    fn create<'c>(connection: &'c mut MySqlConnection, sql: &'static str) -> Answer<'c, ()> {
        Box::pin(async move {
            sqlx::raw_sql(sql).execute(connection).await?;
            Ok(())
        })
    }
}

fn number(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?;
    Some(error.try_downcast_ref::<MySqlDatabaseError>()?.number())
}
