//! Transactions that read a counter and overwrite it later, under a lock in the same database, until the process is
//! killed.

use std::time::Duration;

use leasehold::{LockGuard, LockManager};
use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::{Change, KEY};
use leasehold_sqlx::{FencedDatabase, LockDatabase, LockedTransaction};
use leasehold_testkit::history::Moment;
use sqlx::{AssertSqlSafe, Executor, FromRow, IntoArguments, MySql, Pool, Postgres};
use tokio::time::sleep;

/// The pause after an error. The database may be down.
const AFTER_ERROR: Duration = Duration::from_millis(20);

pub(crate) async fn change(work: Change, url: &str, locks: &LockManager) -> Result<(), BoxError> {
    // The first transaction connects. Its errors are expected, because the database may be down.
    match url.starts_with("postgres:") {
        true => repeat(&work, &Pool::<Postgres>::connect_lazy(url)?, locks).await,
        false => repeat(&work, &Pool::<MySql>::connect_lazy(url)?, locks).await,
    }
}

async fn repeat<DB>(work: &Change, pool: &Pool<DB>, locks: &LockManager) -> Result<(), BoxError>
where
    DB: LockDatabase + FencedDatabase,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'r> (i64,): FromRow<'r, DB::Row>,
    DB::Arguments: IntoArguments<DB>,
{
    for number in 0_u64.. {
        let id = format!("{}.{number}", std::process::id());
        let acquired = locks.lock(KEY).ttl(work.ttl).acquire().await;
        let changed = match &acquired {
            Ok(guard) => once(work, pool, guard, &id).await,
            Err(error) => Err(error.to_string().into()),
        };
        match changed {
            Ok(()) => println!("committed {id} {}", Moment::now().0),
            Err(error) => {
                eprintln!("{id}: {error}");
                sleep(AFTER_ERROR).await;
            }
        }
        if let Ok(guard) = acquired {
            // A lock that was lost needs no release.
            let _released = guard.release().await;
        }
    }
    Ok(())
}

async fn once<DB>(
    work: &Change,
    pool: &Pool<DB>,
    guard: &LockGuard,
    id: &str,
) -> Result<(), BoxError>
where
    DB: LockDatabase + FencedDatabase,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'r> (i64,): FromRow<'r, DB::Row>,
    DB::Arguments: IntoArguments<DB>,
{
    if work.checked {
        let mut tx = LockedTransaction::begin(pool, guard).await?;
        overwrite(work, &mut tx, id).await?;
        tx.commit().await?;
    } else {
        let mut tx = pool.begin().await?;
        overwrite(work, &mut *tx, id).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn overwrite<DB>(
    work: &Change,
    connection: &mut DB::Connection,
    id: &str,
) -> Result<(), sqlx::Error>
where
    DB: LockDatabase + FencedDatabase,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'r> (i64,): FromRow<'r, DB::Row>,
    DB::Arguments: IntoArguments<DB>,
{
    let read = sqlx::query_as("SELECT value FROM counter");
    let (value,): (i64,) = read.fetch_one(&mut *connection).await?;
    println!("read {id} {}", Moment::now().0);
    sleep(work.think.mul_f64(fastrand::f64())).await;
    let write = format!("UPDATE counter SET value = {value} + 1");
    sqlx::query(AssertSqlSafe(write))
        .execute(&mut *connection)
        .await?;
    let note = format!("INSERT INTO changes VALUES ('{id}', {value})");
    sqlx::query(AssertSqlSafe(note))
        .execute(&mut *connection)
        .await?;
    Ok(())
}
