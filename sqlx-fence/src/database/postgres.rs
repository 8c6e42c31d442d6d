use std::time::Duration;

use leasehold_core::FencingToken;
use sqlx::postgres::{PgArguments, PgQueryResult};
use sqlx::{Arguments, Executor, PgConnection, Postgres, Row, SqlStr, query_as, query_scalar};

use super::database_operations::{Call, Claim, ColumnType, Driver, Many, calls_of_sqlx};
use super::idempotency_statements::{Statements, records_of_sqlx, statements};
use super::{Completable, FencedDatabase};
use crate::isolation_level::Isolation;
use crate::rewrite::Dialect;
use crate::table_definitions;
use leasehold_sql::catalog::{Answer, Table};

const CLAIM: &str = "INSERT INTO leasehold_fences AS f (resource, token) VALUES ($1, $2) \
     ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token WHERE f.token <= EXCLUDED.token";
const CURRENT: &str = "SELECT token FROM leasehold_fences WHERE resource = $1";
/// For a domain, returns its base type.
const COLUMN_TYPE: &str = "SELECT pg_catalog.format_type(a.atttypid, a.atttypmod), \
         COALESCE(NULLIF(t.typbasetype, 0), t.oid) IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) \
     FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
     WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped";
const RECORDS: Statements = statements!(
    now: "EXTRACT(EPOCH FROM now())::bigint",
    find: "WITH expired AS (DELETE FROM leasehold_idempotency_records WHERE idempotency_key = $1 \
         AND expires_at <= EXTRACT(EPOCH FROM now())::bigint) ", "",
    values: "$1", "$2", "$3", "$4"
);

impl FencedDatabase for Postgres {}
impl Completable for Postgres {}

impl Driver for Postgres {
    const DIALECT: Dialect = Dialect::Postgres;

    fn add(values: &mut PgArguments, number: i64) -> Result<(), sqlx::Error> {
        Arguments::add(values, number).map_err(sqlx::Error::Encode)
    }

    fn written(result: &PgQueryResult) -> u64 {
        result.rows_affected()
    }

    calls_of_sqlx!();

    fn control<'c>(connection: &'c mut PgConnection, sql: &'static str) -> Answer<'c, ()> {
        Box::pin(async move {
            sqlx::raw_sql(sql).execute(connection).await?;
            Ok(())
        })
    }

    fn probe(
        connection: &mut PgConnection,
        call: Call<Self>,
        confirmed: Option<SqlStr>,
    ) -> Answer<'_, (i64, Option<i64>)> {
        Box::pin(async move {
            let values = call.values.clone();
            // Two statements can have the same probe, with different types for a value that the probe does not use. The
            // cache of prepared statements only compares the text.
            let asks = |sql, values| Call {
                sql,
                values,
                persistent: false,
            };
            let first = asks(call.sql, call.values);
            let mut row = connection.fetch_one(first).await?;
            let newest: Option<i64> = row.try_get(1)?;
            if let Some(sql) = confirmed.filter(|_| newest.is_some())
                && row.try_get(2)?
            {
                row = connection.fetch_one(asks(sql, values)).await?;
            }
            Ok((row.try_get(0)?, row.try_get(1)?))
        })
    }

    fn begin(isolation: Option<Isolation>, limit: Option<Duration>) -> String {
        let level = isolation.map_or(String::new(), |it| format!(" ISOLATION LEVEL {}", it.sql()));
        let Some(limit) = limit else {
            return format!("BEGIN{level}");
        };
        // Round up, because 0 means no limit.
        let limit = limit
            .as_nanos()
            .div_ceil(1_000_000)
            .clamp(1, i32::MAX as u128);
        format!("BEGIN{level}; SET LOCAL lock_timeout = {limit}")
    }

    fn claim<'c>(
        connection: &'c mut PgConnection,
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
        connection: &'c mut PgConnection,
        resource: &'c str,
        token: FencingToken,
        _limit: Duration,
    ) -> Answer<'c, Claim> {
        Self::claim(connection, resource, token)
    }

    const FENCES: Table = table_definitions::fences(table_definitions::POSTGRES_FENCES);
    const IDEMPOTENCY_RECORDS: Table =
        table_definitions::idempotency_records(table_definitions::POSTGRES_IDEMPOTENCY_RECORDS);

    records_of_sqlx!(std::convert::identity);

    fn column_type<'c>(
        connection: &'c mut PgConnection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, Option<ColumnType>> {
        Box::pin(async move {
            let found = query_as(COLUMN_TYPE).bind(table).bind(column);
            let found: Option<(String, bool)> = found.fetch_optional(connection).await?;
            Ok(found.map(|(name, is_integer)| ColumnType { name, is_integer }))
        })
    }

    /// Locks the whole table and requires its owner, even if the column exists.
    fn add_column<'c>(
        connection: &'c mut PgConnection,
        table: &'c str,
        column: &'c str,
    ) -> Answer<'c, ()> {
        Box::pin(async move {
            let sql = format!(
                "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} {}",
                table_definitions::COLUMN_TYPE
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
                .execute(connection)
                .await?;
            Ok(())
        })
    }
}
