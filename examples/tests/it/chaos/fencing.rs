//! Writes to `SQLite` without a fence, and reads before the fence is claimed.

use leasehold::LockManager;
use leasehold::chaos::Chaos;
use leasehold_sqlx::{Error, Fence, FencedPool, ddl};
use sqlx::sqlite::{Sqlite, SqlitePool, SqlitePoolOptions};
use sqlx::{Executor, query, query_scalar};
use tokio::time::{Duration, sleep};

use crate::chaos::{found, passes, succeeded};

const READ: &str = "SELECT total FROM orders WHERE id = 42";
const WRITE: &str = "UPDATE orders SET total = ? WHERE id = 42";

/// Opens a database in memory. A paused client may keep a connection, so each client needs one.
pub(crate) async fn database() -> Result<SqlitePool, Error> {
    let pool = SqlitePoolOptions::new()
        .min_connections(4)
        .max_connections(4);
    let pool = pool.connect("sqlite::memory:").await?;
    pool.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER NOT NULL)")
        .await?;
    pool.execute("INSERT INTO orders VALUES (42, 0)").await?;
    ddl::add_column(&pool, "orders").await?;
    ddl::create_fences(&pool).await?;
    Ok(pool)
}

/// Adds 10 to the order. It does not stop when the lock is lost.
async fn add<P>(locks: &LockManager, pool: &P) -> Result<(), Error>
where
    for<'p> &'p P: Executor<'p, Database = Sqlite>,
{
    let guard = locks.lock("orders:42").acquire().await?;
    let work = async {
        let total: i64 = query_scalar(READ).fetch_one(pool).await?;
        query(WRITE).bind(total + 10).execute(pool).await?;
        Ok(())
    };
    guard.handle().scope(work).await
}

/// Each successful call must have added 10.
pub(crate) async fn total_is_right<P>(chaos: Chaos, pool: impl Fn(SqlitePool) -> P)
where
    for<'p> &'p P: Executor<'p, Database = Sqlite>,
{
    let plain = chaos.outside(database()).await.unwrap();
    let pool = pool(plain.clone());
    let ends = chaos.clients(3, async |locks| add(&locks, &pool).await);
    let added = succeeded(&ends.await) * 10;
    let total: i64 = query_scalar(READ).fetch_one(&plain).await.unwrap();
    assert!(total >= added, "added {added}, but the total is {total}");
}

#[test]
fn write_without_a_fence_is_found() {
    let failure = found(async |chaos| total_is_right(chaos, |pool| pool).await);
    assert!(failure.reason().contains("but the total is"), "{failure}");
}

#[test]
fn write_with_a_fence_passes() {
    passes(async |chaos| total_is_right(chaos, FencedPool::new).await);
}

/// Adds 10 in a transaction that claims the order. `reads_first` is the mistake: until the claim, the previous holder can
/// still write.
async fn add_in_transaction(
    locks: &LockManager,
    pool: &SqlitePool,
    reads_first: bool,
) -> Result<(), Error> {
    let guard = locks.lock("orders:42").acquire().await?;
    let fence = Fence::new(guard.token());
    let mut total: i64 = 0;
    if reads_first {
        total = query_scalar(READ).fetch_one(pool).await?;
        sleep(Duration::from_millis(20)).await;
    }
    let mut tx = fence.begin(pool, "orders:42").await?;
    if !reads_first {
        total = query_scalar(READ).fetch_one(&mut *tx).await?;
        sleep(Duration::from_millis(20)).await;
    }
    query(WRITE).bind(total + 10).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}

async fn claims_are_right(chaos: Chaos, reads_first: bool) {
    let pool = chaos.outside(database()).await.unwrap();
    let ends = chaos.clients(2, async |locks| {
        add_in_transaction(&locks, &pool, reads_first).await
    });
    let added = succeeded(&ends.await) * 10;
    let total: i64 = query_scalar(READ).fetch_one(&pool).await.unwrap();
    assert!(total >= added, "added {added}, but the total is {total}");
}

#[test]
fn read_before_the_claim_is_found() {
    found(async |chaos| claims_are_right(chaos, true).await);
}

#[test]
fn read_after_the_claim_passes() {
    passes(async |chaos| claims_are_right(chaos, false).await);
}
