//! The tables on Postgres.

use sqlx::error::DatabaseError;
use sqlx::{Connection, PgConnection, Postgres, Row};

use super::{Answer, Catalog, Obstacle};

const SAVEPOINT: &str = "SAVEPOINT leasehold_fences";
const ROLL_BACK: &str = "ROLLBACK TO SAVEPOINT leasehold_fences";
const RELEASE: &str = "RELEASE SAVEPOINT leasehold_fences";

impl Catalog for Postgres {
    fn obstacle(error: &sqlx::Error) -> Option<Obstacle> {
        match error
            .as_database_error()
            .and_then(DatabaseError::code)?
            .as_ref()
        {
            "55P03" => Some(Obstacle::Locked),
            "40001" | "40P01" => Some(Obstacle::Conflict),
            _ => None,
        }
    }

    fn columns<'c>(
        connection: &'c mut PgConnection,
        table: &'static str,
    ) -> Answer<'c, Vec<String>> {
        Box::pin(async move {
            // A simple query, because a pooler may execute a prepared statement on another connection.
            let sql = format!(
                "SELECT attname::text FROM pg_catalog.pg_attribute \
                 WHERE attrelid = pg_catalog.to_regclass('{table}') AND attnum > 0 AND NOT attisdropped"
            );
            let found = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
            let rows = found.fetch_all(connection).await?;
            rows.iter().map(|row| row.try_get(0)).collect()
        })
    }

    fn in_other_schema<'c>(
        connection: &'c mut PgConnection,
        table: &'static str,
    ) -> Answer<'c, Option<String>> {
        Box::pin(async move {
            // Without the schemas of temporary tables. The table of this role is found with the same snapshot as the
            // others: `to_regclass` has a cache, which need not know a table that was created a moment ago.
            let sql = format!(
                "WITH named AS ( \
                     SELECT c.oid, c.relkind, n.nspname, \
                         pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) AS place \
                     FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                     WHERE c.relname = '{table}' \
                 ) \
                 SELECT pg_catalog.format('`%s.{table}`', nspname) FROM named \
                 WHERE relkind IN ('r', 'p') AND nspname !~ '^pg_' AND oid IS DISTINCT FROM \
                     (SELECT oid FROM named WHERE place IS NOT NULL ORDER BY place LIMIT 1) LIMIT 1"
            );
            let found = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
            let row = found.fetch_optional(connection).await?;
            row.map(|row| row.try_get(0)).transpose()
        })
    }

    fn create<'c>(connection: &'c mut PgConnection, sql: &'static str) -> Answer<'c, ()> {
        Box::pin(async move {
            let create = || sqlx::raw_sql(sql);
            // Use a savepoint, because Postgres accepts no other statement in a transaction after a failed one.
            let within = connection.is_in_transaction();
            if within {
                sqlx::raw_sql(SAVEPOINT).execute(&mut *connection).await?;
            }
            if let Err(first) = create().execute(&mut *connection).await {
                if within {
                    // Ignore an error here, because the next statement then fails, too.
                    drop(sqlx::raw_sql(ROLL_BACK).execute(&mut *connection).await);
                }
                if !is_created_meanwhile(&first) {
                    return Err(first);
                }
                let again = create().execute(&mut *connection).await;
                // Without a savepoint, Postgres refuses the second statement without a reason, so return the first
                // error. This happens if sqlx did not begin the transaction.
                again.map_err(|again| if is_aborted(&again) { first } else { again })?;
            }
            if within {
                sqlx::raw_sql(RELEASE).execute(connection).await?;
            }
            Ok(())
        })
    }
}

/// Returns whether a concurrent call has created the table. Two concurrent calls can both find the table missing. The
/// second one then fails because a table, a type or a row of the catalog already exists.
fn is_created_meanwhile(error: &sqlx::Error) -> bool {
    has_code(error, &["42P07", "42710", "23505"])
}

fn is_aborted(error: &sqlx::Error) -> bool {
    has_code(error, &["25P02"])
}

fn has_code(error: &sqlx::Error, codes: &[&str]) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|it| codes.contains(&it.as_ref()))
}
