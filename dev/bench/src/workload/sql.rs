use std::time::Instant;

use async_trait::async_trait;
use leasehold::LockManager;
use leasehold_sqlx::{Fence, FencedPool, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{MySqlPool, PgPool};

use super::{Environment, Workload};
use crate::BoxError;
use crate::report::Outcome;
use crate::turns::Plan;

const UPDATES: i64 = 50;

pub(crate) const POSTGRES: &str = "an UPDATE, Postgres";
pub(crate) const MARIADB: &str = "an UPDATE, MariaDB";
pub(crate) const SQLITE: &str = "an UPDATE, SQLite";
pub(crate) const METRIC: &str = "statement_us";
pub(crate) const BY_HAND: &str = "fenced by hand";
pub(crate) const POOL: &str = "FencedPool";

const NUMBERED: &str =
    "UPDATE items SET amount = $1, fencing_token = $3 WHERE id = $2 AND fencing_token <= $3";
const NOT_NUMBERED: &str =
    "UPDATE items SET amount = ?, fencing_token = ? WHERE id = ? AND fencing_token <= ?";

/// The cost of a fence for a successful statement: the same `UPDATE` without a fence, with `Fence::query`, with the
/// condition written by hand, and through a `FencedPool` in a task that holds the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sql {
    Postgres,
    MariaDb,
    Sqlite,
}

/// Runs the same measurement with a pool of each database.
macro_rules! measure {
    ($plan:expr, $pool:expr, $sql:literal, by hand: $by_hand:expr $(,)?) => {{
        let pool = $pool;
        let items = "CREATE TABLE items (id BIGINT PRIMARY KEY, amount BIGINT); INSERT INTO items VALUES (1, 0), (2, 0)";
        sqlx::raw_sql(items).execute(&pool).await?;
        ddl::add_column(&pool, "items").await?;
        let guard = LockManager::in_process().lock("items").acquire().await?;
        let token = guard.token();
        let (fence, fenced_pool) = (Fence::new(token), FencedPool::new(pool.clone()));
        let write = async |at: usize| {
            for number in 0..UPDATES {
                let query = || sqlx::query($sql).bind(number).bind(1_i64);
                match at {
                    0 => query().execute(&pool).await.map(drop)?,
                    1 => fence.query($sql).bind(number).bind(1_i64).execute(&pool).await.map(drop)?,
                    2 => $by_hand(number, 1_i64, token.get()).execute(&pool).await.map(drop)?,
                    _ => query().execute(&fenced_pool).await.map(drop)?,
                }
            }
            Ok::<_, BoxError>(())
        };
        let run = async |at: usize| {
            let begin = Instant::now();
            guard.run(async |_| write(at).await).await?;
            let each = begin.elapsed().as_secs_f64() * 1e6 / UPDATES as f64;
            Ok(vec![each])
        };
        $plan.take_turns(&["plain", "fenced", BY_HAND, POOL], run).await
    }};
}

#[async_trait(?Send)]
impl Workload for Sql {
    fn name(&self) -> String {
        match self {
            Self::Postgres => POSTGRES.into(),
            Self::MariaDb => MARIADB.into(),
            Self::Sqlite => SQLITE.into(),
        }
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let name = self.name();
        let plan = Plan {
            workload: &name,
            metrics: &[METRIC],
            rounds: if environment.quick { 10 } else { 60 },
        };
        match self {
            Self::Postgres => {
                let server = PostgresServer::start().await?;
                let pool = PgPool::connect(&server.url()).await?;
                measure!(
                    plan,
                    pool,
                    "UPDATE items SET amount = $1 WHERE id = $2",
                    by hand: |amount, id, token| {
                        sqlx::query(NUMBERED).bind(amount).bind(id).bind(token)
                    }
                )
            }
            Self::MariaDb => {
                let server = MariaDbServer::start().await?;
                let pool = MySqlPool::connect(&server.url()).await?;
                measure!(
                    plan,
                    pool,
                    "UPDATE items SET amount = ? WHERE id = ?",
                    by hand: |amount, id, token| {
                        let query = sqlx::query(NOT_NUMBERED).bind(amount).bind(token);
                        query.bind(id).bind(token)
                    }
                )
            }
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                let options = SqliteConnectOptions::new()
                    .filename(folder.path().join("cost.db"))
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal);
                let pool = SqlitePoolOptions::new().max_connections(1);
                let pool = pool.connect_with(options).await?;
                measure!(
                    plan,
                    pool,
                    "UPDATE items SET amount = ? WHERE id = ?",
                    by hand: |amount, id, token| {
                        sqlx::query(NUMBERED).bind(amount).bind(id).bind(token)
                    }
                )
            }
        }
    }
}
