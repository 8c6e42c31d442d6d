//! What a fenced pool says about wrong uses that compile. It sends nothing: the server does not exist.
#![deny(warnings)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use leasehold::LockManager;
use leasehold_sqlx::{Error, FencedPool};
use sqlx::{PgPool, Postgres};

type Fenced = FencedPool<Postgres>;

fn pool() -> Fenced {
    let plain = PgPool::connect_lazy("postgres://nowhere.invalid/none").unwrap();
    let pool = FencedPool::new(plain).map_table("orders", "order:*");
    pool.unwrap()
}

async fn pay(pool: &Fenced) -> Result<(), Error> {
    let pay = sqlx::query("UPDATE orders SET state = 'paid' WHERE id = 42");
    pay.execute(pool).await?;
    Ok(())
}

/// Asserts that the error contains the remedy.
fn assert_remedy(result: Result<(), Error>, remedy: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(remedy), "{error}");
}

#[tokio::test]
async fn write_without_a_lock_is_refused_with_the_remedy() {
    assert_remedy(pay(&pool()).await, "work inside `run` or `scope` of a lock");
}

#[tokio::test]
async fn write_in_a_spawned_task_is_refused_with_the_remedy() {
    let (locks, pool) = (LockManager::in_process(), pool());
    let spawned = locks.lock("order:42").run(async |_| {
        let writes = tokio::spawn(async move { pay(&pool).await });
        Ok::<_, Error>(writes.await.unwrap())
    });
    assert_remedy(spawned.await.unwrap(), "`current_lock()?.scope(future)`");
}

#[tokio::test]
async fn write_under_a_semaphore_is_refused_with_the_remedy() {
    let permits = LockManager::in_process().semaphore("order:42", 2);
    let under = permits.run(async |_| pay(&pool()).await).await;
    assert_remedy(under, "use an exclusive lock");
}

#[tokio::test]
async fn write_under_the_wrong_key_is_refused_with_the_remedy() {
    let account = LockManager::in_process().lock("account:7");
    let under = account.run(async |_| pay(&pool()).await).await;
    assert_remedy(
        under,
        "needs a lock on `order:*`, but this task holds `account:7`",
    );
}

#[tokio::test]
async fn write_after_the_release_is_refused_with_the_remedy() {
    let locks = LockManager::in_process();
    let guard = locks.lock("order:42").acquire().await.unwrap();
    let late = guard.handle();
    guard.release().await.unwrap();
    assert_remedy(late.scope(pay(&pool())).await, "acquire the lock again");
}

#[tokio::test]
async fn unfenceable_statement_is_refused_with_the_remedy() {
    let pool = pool();
    let order = LockManager::in_process().lock("order:42");
    let upsert = "INSERT INTO orders (id) VALUES (42) ON CONFLICT (id) DO UPDATE SET state = 'new'";
    let refused = order.run(async |_| {
        sqlx::query(upsert).execute(&pool).await?;
        Ok::<_, Error>(())
    });
    assert_remedy(refused.await, "begin");
}
