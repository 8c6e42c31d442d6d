use std::time::Instant;

use async_trait::async_trait;
use leasehold_sqlx::{Fence, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{MySqlPool, PgPool};

use super::{Environment, Workload};
use crate::BoxError;
use crate::report::Outcome;
use crate::turns::Plan;

const UPDATES: i64 = 50;

/// The cost of a fence for a successful statement: the same `UPDATE` with a fence and without.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sql {
    Postgres,
    MariaDb,
    Sqlite,
}

/// Runs the same measurement with a pool of each database.
macro_rules! measure {
    ($plan:expr, $pool:expr, $sql:literal) => {{
        let pool = $pool;
        let items = "CREATE TABLE items (id BIGINT PRIMARY KEY, amount BIGINT); INSERT INTO items VALUES (1, 0), (2, 0)";
        sqlx::raw_sql(items).execute(&pool).await?;
        ddl::add_column(&pool, "items").await?;
        let fence = Fence::try_from(7)?;
        let run = async |at: usize| {
            let begin = Instant::now();
            for number in 0..UPDATES {
                match at {
                    0 => sqlx::query($sql).bind(number).bind(1_i64).execute(&pool).await.map(drop)?,
                    _ => fence.query($sql).bind(number).bind(1_i64).execute(&pool).await.map(drop)?,
                }
            }
            let each = begin.elapsed().as_secs_f64() * 1e6 / UPDATES as f64;
            Ok(vec![each])
        };
        $plan.take_turns(&["plain", "fenced"], run).await
    }};
}

#[async_trait(?Send)]
impl Workload for Sql {
    fn name(&self) -> String {
        match self {
            Self::Postgres => "an UPDATE, Postgres".into(),
            Self::MariaDb => "an UPDATE, MariaDB".into(),
            Self::Sqlite => "an UPDATE, SQLite".into(),
        }
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let name = self.name();
        let plan = Plan {
            workload: &name,
            metrics: &["statement_us"],
            rounds: if environment.quick { 10 } else { 60 },
        };
        match self {
            Self::Postgres => {
                let server = PostgresServer::start().await?;
                let pool = PgPool::connect(&server.url()).await?;
                measure!(plan, pool, "UPDATE items SET amount = $1 WHERE id = $2")
            }
            Self::MariaDb => {
                let server = MariaDbServer::start().await?;
                let pool = MySqlPool::connect(&server.url()).await?;
                measure!(plan, pool, "UPDATE items SET amount = ? WHERE id = ?")
            }
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                let options = SqliteConnectOptions::new()
                    .filename(folder.path().join("cost.db"))
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal);
                let pool = SqlitePoolOptions::new().max_connections(1);
                let pool = pool.connect_with(options).await?;
                measure!(plan, pool, "UPDATE items SET amount = ? WHERE id = ?")
            }
        }
    }
}
