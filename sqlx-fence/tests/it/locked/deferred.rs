//! Deferred constraint triggers of Postgres run at `COMMIT`, after the check of the lease.

use std::time::Duration;

use leasehold_sqlx::{Error, LockedTransaction};
use sqlx::PgPool;
use tokio::time::timeout;

use crate::locked::tools::{SOON, acquired, item, manager, postgres, run, seen};

/// Creates a table. `body` runs at the commit of a transaction that has inserted a row into this table.
async fn deferred(pool: &PgPool, table: &str, body: &str) {
    run!(
        pool,
        "CREATE TABLE {table} (id BIGINT); \
         CREATE FUNCTION {table}_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER {table}_t AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION {table}_f()"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_holder_waits_for_deferred_triggers_and_sees_their_writes() {
    let pool = postgres().await;
    item!(&pool, "slow");
    let body = "PERFORM pg_sleep(4); UPDATE items SET amount = 11 WHERE id = 'slow'";
    deferred(&pool, "slow_commits", body).await;
    let ttl = Duration::from_secs(2);
    let lock = manager(&pool).lock("slow").ttl(ttl).without_renewal();
    let guard = lock.acquire().await.unwrap();
    let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
    run!(&mut *tx, "INSERT INTO slow_commits VALUES (1)");
    let commit = tokio::spawn(tx.commit());

    // The lease ends during the commit. The next holder acquires the lock after the commit.
    let next = timeout(SOON, acquired(&manager(&pool), "slow"))
        .await
        .unwrap();
    assert_eq!(seen!(&pool, "slow"), (11, 1));
    timeout(SOON, commit).await.unwrap().unwrap().unwrap();
    next.release().await.unwrap();
}

#[tokio::test]
async fn a_failed_deferred_trigger_is_returned_and_nothing_is_written() {
    let pool = postgres().await;
    item!(&pool, "failing");
    let guard = acquired(&manager(&pool), "failing").await;
    // The check of the lease uses a division by zero, too.
    for (table, body, code) in [
        ("raises", "RAISE EXCEPTION USING ERRCODE = 'LH001'", "LH001"),
        (
            "divides",
            "PERFORM 1 / (SELECT COUNT(*) FROM items WHERE id = '?')",
            "22012",
        ),
    ] {
        deferred(&pool, table, body).await;
        let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = 11 WHERE id = 'failing'"
        );
        run!(&mut *tx, "INSERT INTO {table} VALUES (1)");
        let Err(Error::Sqlx(error)) = tx.commit().await else {
            panic!("it must fail")
        };
        let found = error.as_database_error().unwrap().code();
        assert_eq!(found.as_deref(), Some(code));
        assert_eq!(seen!(&pool, "failing"), (10, 0));
    }
}

#[tokio::test]
async fn on_postgres_a_commit_after_a_failed_statement_is_an_error() {
    let pool = postgres().await;
    item!(&pool, "failed");
    let guard = acquired(&manager(&pool), "failed").await;
    let mut tx = LockedTransaction::begin(&pool, &guard).await.unwrap();
    run!(&mut *tx, "UPDATE items SET amount = 11 WHERE id = 'failed'");
    let twice = sqlx::query("INSERT INTO items VALUES ('failed', 1)");
    assert!(twice.execute(&mut *tx).await.is_err());
    assert!(matches!(tx.commit().await, Err(Error::Sqlx(_))));
    assert_eq!(seen!(&pool, "failed"), (10, 0));
}
