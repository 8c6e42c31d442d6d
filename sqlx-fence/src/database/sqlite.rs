use std::time::Duration;

use leasehold_core::FencingToken;
use sqlx::sqlite::{SqliteArguments, SqliteQueryResult};
use sqlx::{Arguments, Executor, Row, SqlStr, Sqlite, SqliteConnection, query_scalar};

use super::database_operations::{Call, Claim, ColumnType, Driver, Many, calls_of_sqlx};
use super::idempotency_statements::{Statements, records_of_sqlx, statements};
use super::{Completable, FencedDatabase};
use crate::isolation_level::Isolation;
use crate::rewrite::Dialect;
use crate::table_and_column_names;
use crate::table_definitions;
use leasehold_sql::catalog::{Answer, Table};

const CLAIM: &str = "INSERT INTO leasehold_fences (resource, token) VALUES ($1, $2) \
     ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE token <= excluded.token";
const CURRENT: &str = "SELECT token FROM leasehold_fences WHERE resource = $1";
const PATIENCE: &str = "PRAGMA busy_timeout";
const COLUMN_TYPE: &str =
    "SELECT type FROM pragma_table_info($1, $2) WHERE name = $3 COLLATE NOCASE";
const RECORDS: Statements = statements!(
    now: "CAST(strftime('%s', 'now') AS INTEGER)",
    find: "", "",
    values: "$1", "$2", "$3", "$4"
);

impl FencedDatabase for Sqlite {}
impl Completable for Sqlite {}

impl Driver for Sqlite {
    const DIALECT: Dialect = Dialect::Sqlite;

    fn add(values: &mut SqliteArguments, number: i64) -> Result<(), sqlx::Error> {
        Arguments::add(values, number).map_err(sqlx::Error::Encode)
    }

    fn written(result: &SqliteQueryResult) -> u64 {
        result.rows_affected()
    }

    calls_of_sqlx!();

    fn control<'c>(connection: &'c mut SqliteConnection, sql: &'static str) -> Answer<'c, ()> {
        Box::pin(async move {
            sqlx::raw_sql(sql).execute(connection).await?;
            Ok(())
        })
    }

    fn probe(
        connection: &mut SqliteConnection,
        call: Call<Self>,
        _confirmed: Option<SqlStr>,
    ) -> Answer<'_, (i64, Option<i64>)> {
        Box::pin(async move {
            let row = connection.fetch_one(call).await?;
            Ok((row.try_get(0)?, row.try_get(1)?))
        })
    }

    /// Ignores the isolation level, because `SQLite` has only one. A claim acquires the write lock as the first
    /// statement, within the limit. Without a claim, the transaction acquires the write lock when it begins.
    fn begin(_isolation: Option<Isolation>, limit: Option<Duration>) -> String {
        limit.map_or("BEGIN IMMEDIATE", |_| "BEGIN").to_owned()
    }

    fn claim<'c>(
        connection: &'c mut SqliteConnection,
        resource: &'c str,
        token: FencingToken,
    ) -> Answer<'c, Claim> {
        Box::pin(async move {
            loop {
                let claim = sqlx::query(CLAIM).bind(resource).bind(token.get());
                if claim.execute(&mut *connection).await?.rows_affected() > 0 {
                    return Ok(Claim::Accepted);
                }
                let current = query_scalar(CURRENT).bind(resource);
                match current.fetch_optional(&mut *connection).await? {
                    Some(newer) if newer > token.get() => return Ok(Claim::Newer(newer)),
                    // Another client has removed the row since the claim, so claim again.
                    _ => {}
                }
            }
        })
    }

    fn claim_within<'c>(
        connection: &'c mut SqliteConnection,
        resource: &'c str,
        token: FencingToken,
        limit: Duration,
    ) -> Answer<'c, Claim> {
        Box::pin(async move {
            let before: i64 = query_scalar(PATIENCE).fetch_one(&mut *connection).await?;
            let limit = limit
                .as_nanos()
                .div_ceil(1_000_000)
                .clamp(1, i32::MAX as u128);
            set_patience(connection, limit).await?;
            let claimed = Self::claim(connection, resource, token).await;
            set_patience(connection, before).await?;
            claimed
        })
    }

    const FENCES: Table = table_definitions::fences(table_definitions::SQLITE_FENCES);
    const IDEMPOTENCY_RECORDS: Table =
        table_definitions::idempotency_records(table_definitions::SQLITE_IDEMPOTENCY_RECORDS);

    records_of_sqlx!(std::convert::identity);

    fn column_type<'c>(
        connection: &'c mut SqliteConnection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, Option<ColumnType>> {
        Box::pin(async move {
            let parts = table_and_column_names::parts(Self::DIALECT, table).unwrap_or_default();
            // Without a schema, resolve the table as the statement does: a temporary table first, then one in `main`,
            // then one in another schema.
            let (schema, table) = match parts.as_slice() {
                [(schema, _), (table, _)] => (Some(schema.as_ref()), table.as_ref()),
                _ => (None, parts.first().map_or(table, |it| it.0.as_ref())),
            };
            let found = query_scalar(COLUMN_TYPE)
                .bind(table)
                .bind(schema)
                .bind(column);
            let found: Option<String> = found.fetch_optional(connection).await?;
            Ok(found.map(|name| ColumnType {
                // SQLite gives a column integer affinity if the name of its type contains INT.
                is_integer: name.to_ascii_uppercase().contains("INT"),
                name,
            }))
        })
    }

    fn add_column<'c>(
        connection: &'c mut SqliteConnection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, ()> {
        Box::pin(async move {
            let sql = format!(
                "ALTER TABLE {table} ADD COLUMN {column} {}",
                table_definitions::COLUMN_TYPE
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
                .execute(connection)
                .await?;
            Ok(())
        })
    }
}

async fn set_patience(
    connection: &mut SqliteConnection,
    millis: impl std::fmt::Display,
) -> Result<(), sqlx::Error> {
    let sql = format!("{PATIENCE} = {millis}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
        .execute(connection)
        .await?;
    Ok(())
}
