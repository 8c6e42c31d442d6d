//! The contestants on a SQL database. Each one has its own pool with the same options.

use leasehold::LockManager;
use leasehold_sqlx::{LockDatabase, SqlBackend, ddl};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Database, MySql, Pool, Postgres, Sqlite};

use super::any_contestant::AnyContestant;
use super::leasehold::Leasehold;
use super::sql::{AdvisoryLock, ForUpdate, Statements};
use crate::BoxError;

/// The contestant with which the others are compared.
pub(crate) const BY_HAND: &str = "same SQL by hand";

const FOR_UPDATE: &str = "SELECT … FOR UPDATE";

type Entrants = Vec<(&'static str, AnyContestant)>;

/// Returns the contestants on a Postgres server, and the library on a Redis server.
pub(crate) async fn on_postgres(
    options: &PgConnectOptions,
    redis: &str,
) -> Result<Entrants, BoxError> {
    let mut entrants = on::<Postgres>(options, Statements::Postgres, redis).await?;
    let advisory_lock = AdvisoryLock::new(pool(options).await?);
    let for_update = ForUpdate::Postgres(pool(options).await?);
    for_update.create_table().await?;
    entrants.push(("PgAdvisoryLock", AnyContestant::AdvisoryLock(advisory_lock)));
    entrants.push((FOR_UPDATE, AnyContestant::ForUpdate(for_update)));
    Ok(entrants)
}

/// Returns the contestants on a `MariaDB` server, and the library on a Redis server.
pub(crate) async fn on_mariadb(
    options: &MySqlConnectOptions,
    redis: &str,
) -> Result<Entrants, BoxError> {
    let mut entrants = on::<MySql>(options, Statements::MariaDb, redis).await?;
    let for_update = ForUpdate::MariaDb(pool(options).await?);
    for_update.create_table().await?;
    entrants.push((FOR_UPDATE, AnyContestant::ForUpdate(for_update)));
    Ok(entrants)
}

/// Returns the contestants in a file of `SQLite`, and the library on a Redis server.
pub(crate) async fn on_sqlite(
    options: &SqliteConnectOptions,
    redis: &str,
) -> Result<Entrants, BoxError> {
    on::<Sqlite>(options, Statements::Sqlite, redis).await
}

async fn on<DB: LockDatabase>(
    options: &<DB::Connection as Connection>::Options,
    by_hand: impl FnOnce(Pool<DB>) -> Statements,
    redis: &str,
) -> Result<Entrants, BoxError> {
    let by_hand = by_hand(pool(options).await?);
    by_hand.create_table().await?;
    let pools = [pool::<DB>(options).await?, pool(options).await?];
    ddl::create_locks(&pools[0]).await?;
    let here = Leasehold::twice(pools.map(|pool| LockManager::new(SqlBackend::new(pool))));
    let on_redis = [
        LockManager::connect(redis).await?,
        LockManager::connect(redis).await?,
    ];
    Ok(vec![
        (BY_HAND, AnyContestant::Statements(by_hand)),
        ("leasehold", AnyContestant::Leasehold(here)),
        (
            "leasehold, Redis",
            AnyContestant::Leasehold(Leasehold::twice(on_redis)),
        ),
    ])
}

/// Opens a pool that does not ping a connection before each use, because the ping is one more round trip.
async fn pool<DB: Database>(
    options: &<DB::Connection as Connection>::Options,
) -> Result<Pool<DB>, BoxError> {
    let pool = PoolOptions::new().test_before_acquire(false);
    Ok(pool.connect_with(options.clone()).await?)
}
