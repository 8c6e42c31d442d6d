use std::time::Duration;

use leasehold_core::FencingToken;
use sqlx::mysql::{MySqlArguments, MySqlQueryResult};
use sqlx::{Arguments, Executor, MySql, MySqlConnection, Row, SqlStr};

use super::FencedDatabase;
use super::database_operations::{Call, Claim, ColumnType, Driver, Many, calls_of_sqlx};
use super::idempotency_statements::{Statements, records_of_sqlx, statements};
use crate::isolation_level::Isolation;
use crate::rewrite::Dialect;
use crate::table_definitions;
use leasehold_sql::catalog::{Answer, Table};

/// Returns a newer token as the id of the last inserted row. The statement is an `INSERT`, because an `UPDATE` of a
/// missing row would lock the gap, and so block claims of other resources.
const CLAIM: &str = "INSERT INTO leasehold_fences (resource, token) VALUES (?, ?) \
     ON DUPLICATE KEY UPDATE token = IF(token <= ?, ?, LAST_INSERT_ID(token))";
const RESTORE: &str = "SET SESSION innodb_lock_wait_timeout = @leasehold_wait";
const RECORDS: Statements = statements!(
    now: "CAST(UNIX_TIMESTAMP() AS SIGNED)",
    find: "", " FOR UPDATE",
    values: "?", "?", "?", "?"
);
const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];

impl FencedDatabase for MySql {}

impl Driver for MySql {
    const DIALECT: Dialect = Dialect::MySql;

    fn add(values: &mut MySqlArguments, number: i64) -> Result<(), sqlx::Error> {
        Arguments::add(values, number).map_err(sqlx::Error::Encode)
    }

    fn written(result: &MySqlQueryResult) -> u64 {
        result.rows_affected()
    }

    calls_of_sqlx!();

    fn control<'c>(connection: &'c mut MySqlConnection, sql: &'static str) -> Answer<'c, ()> {
        Box::pin(async move {
            sqlx::raw_sql(sql).execute(connection).await?;
            Ok(())
        })
    }

    fn probe(
        connection: &mut MySqlConnection,
        call: Call<Self>,
        _confirmed: Option<SqlStr>,
    ) -> Answer<'_, (i64, Option<i64>)> {
        Box::pin(async move {
            let row = connection.fetch_one(call).await?;
            Ok((row.try_get(0)?, row.try_get(1)?))
        })
    }

    fn begin(isolation: Option<Isolation>, limit: Option<Duration>) -> String {
        let level = isolation.map_or(String::new(), |it| {
            format!("SET TRANSACTION ISOLATION LEVEL {}; ", it.sql())
        });
        let Some(limit) = limit else {
            return format!("{level}START TRANSACTION");
        };
        // The setting is in whole seconds, and 0 means no limit in some versions.
        let limit = limit.as_nanos().div_ceil(1_000_000_000).clamp(1, 1_000_000);
        format!(
            "SET @leasehold_wait = @@SESSION.innodb_lock_wait_timeout, \
             SESSION innodb_lock_wait_timeout = {limit}; {level}START TRANSACTION"
        )
    }

    fn claim<'c>(
        connection: &'c mut MySqlConnection,
        resource: &'c str,
        token: FencingToken,
    ) -> Answer<'c, Claim> {
        Box::pin(async move {
            let number = token.get();
            let claim = sqlx::query(CLAIM).bind(resource.as_bytes()).bind(number);
            let claim = claim.bind(number).bind(number);
            let newer = claim.execute(connection).await?.last_insert_id();
            Ok(match newer {
                0 => Claim::Accepted,
                newer => Claim::Newer(newer.cast_signed()),
            })
        })
    }

    fn claim_within<'c>(
        connection: &'c mut MySqlConnection,
        resource: &'c str,
        token: FencingToken,
        _limit: Duration,
    ) -> Answer<'c, Claim> {
        Box::pin(async move {
            let claimed = Self::claim(connection, resource, token).await;
            // Restore the setting, because it would remain after the transaction.
            Self::control(connection, RESTORE).await?;
            claimed
        })
    }

    const FENCES: Table = table_definitions::fences(table_definitions::MYSQL_FENCES);
    const IDEMPOTENCY_RECORDS: Table =
        table_definitions::idempotency_records(table_definitions::MYSQL_IDEMPOTENCY_RECORDS);

    // The column is binary.
    records_of_sqlx!(str::as_bytes);

    /// Uses `SHOW COLUMNS`, which resolves the table as the statement does. `information_schema` does not contain
    /// temporary tables.
    fn column_type<'c>(
        connection: &'c mut MySqlConnection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, Option<ColumnType>> {
        Box::pin(async move {
            let sql = format!("SHOW COLUMNS FROM {table} WHERE Field = '{column}'");
            let found = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
            let Some(row) = found.fetch_optional(connection).await? else {
                return Ok(None);
            };
            // Some servers return the type as text, and others return it as bytes.
            let name: String = row.try_get_unchecked("Type")?;
            let first = name.split([' ', '(']).next().unwrap_or_default();
            Ok(Some(ColumnType {
                is_integer: INTEGERS.iter().any(|it| first.eq_ignore_ascii_case(it)),
                name,
            }))
        })
    }

    fn add_column<'c>(
        connection: &'c mut MySqlConnection,
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
