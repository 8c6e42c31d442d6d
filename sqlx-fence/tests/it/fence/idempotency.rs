//! At most one record per idempotency key, in the transaction of the work or outside of it.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_sqlx::{Error, FencedPool, IdempotencyRecord, SqlIdempotencyStore, ddl};
use leasehold_testkit::servers::ReplicatedPostgres;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{PgPool, SqlitePool, query, query_scalar};
use tokio::time::sleep;

use crate::fence::tools::{mariadb, postgres, sqlite};

const KEEP: Duration = Duration::from_secs(60);

fn record(key: &str, token: i64) -> IdempotencyRecord {
    IdempotencyRecord {
        key: key.to_owned(),
        token,
        response: (0..=255).cycle().take(900 * 1024).collect(),
    }
}

fn is_recorded_already(result: &Result<(), Error>, expected: &str) -> bool {
    matches!(result, Err(Error::AlreadyRecorded { key }) if key == expected)
}

/// Runs the same checks on each database.
macro_rules! records {
    ($pool:expr) => {
        let pool = $pool;
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move { ddl::create_idempotency_records(&pool).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let store = SqlIdempotencyStore::new(pool.clone());

        // Outside of a transaction.
        for key in ["a", "A", "a ", "ä", "%", "'"] {
            assert_eq!(store.find(key).await.unwrap(), None, "{key:?}");
            store.insert(&record(key, 1), KEEP).await.unwrap();
            let again = store.insert(&record(key, 2), KEEP).await;
            assert!(is_recorded_already(&again, key), "{again:?}");
            assert_eq!(store.find(key).await.unwrap(), Some(record(key, 1)));
        }
        for bad in ["", "a\0", &"a".repeat(513)] {
            for refused in [
                store.find(bad).await.map(drop),
                store.insert(&record(bad, 1), KEEP).await,
                record(bad, 1).insert(&mut pool.begin().await.unwrap(), KEEP).await,
            ] {
                let what = "idempotency key";
                assert!(matches!(refused, Err(Error::Name { what: it, .. }) if it == what), "{refused:?}");
            }
        }
        let longest = "a".repeat(512);
        store.insert(&record(&longest, 1), KEEP).await.unwrap();
        assert_eq!(store.find(&longest).await.unwrap(), Some(record(&longest, 1)));

        // Committed or rolled back with the work.
        let work = "UPDATE items SET amount = amount + 1 WHERE id = 1";
        let amount = "SELECT amount FROM items WHERE id = 1";
        for (commits, amounts) in [(false, 10_i64), (true, 11), (true, 11)] {
            let mut tx = pool.begin().await.unwrap();
            query(work).execute(&mut *tx).await.unwrap();
            let inserted = record("tx", 3).insert(&mut tx, KEEP).await;
            match (commits, inserted) {
                (true, Ok(())) => tx.commit().await.unwrap(),
                (_, inserted) => {
                    assert!(!commits || is_recorded_already(&inserted, "tx"), "{inserted:?}");
                    tx.rollback().await.unwrap();
                }
            }
            let found = store.find("tx").await.unwrap();
            assert_eq!(found, commits.then(|| record("tx", 3)));
            let found: i64 = query_scalar(amount).fetch_one(&pool).await.unwrap();
            assert_eq!(found, amounts);
        }

        // In a transaction of a fenced pool.
        let guard = LockManager::in_process().lock("lock").acquire().await.unwrap();
        let fenced = FencedPool::new(pool.clone());
        guard
            .run(async |lock| {
                let mut tx = fenced.begin().await?;
                record("fenced", lock.token().get()).insert(&mut tx, KEEP).await?;
                tx.commit().await
            })
            .await
            .unwrap();
        let token = store.find("fenced").await.unwrap().unwrap().token;
        assert_eq!(token, guard.token().get());

        // Expired records.
        for key in ["old:1", "old:2", "old:3"] {
            store.insert(&record(key, 1), Duration::ZERO).await.unwrap();
        }
        let early = store.insert(&record("old:1", 2), KEEP).await;
        assert!(is_recorded_already(&early, "old:1"), "{early:?}");
        assert_eq!(store.find("old:1").await.unwrap(), None);
        store.insert(&record("old:1", 2), KEEP).await.unwrap();
        assert_eq!(store.delete_expired().await.unwrap(), 2);
        assert_eq!(store.delete_expired().await.unwrap(), 0);
        store.insert(&record("forever", 1), Duration::MAX).await.unwrap();
        for (key, token) in [("old:1", 2), ("forever", 1), ("a", 1)] {
            assert_eq!(store.find(key).await.unwrap().unwrap().token, token, "{key}");
        }
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_one_record_per_key() {
    records!(sqlite().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_one_record_per_key() {
    let (_server, pool) = postgres().await;
    records!(pool);
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_keeps_one_record_per_key() {
    let (_server, pool) = mariadb().await;
    records!(pool);
}

/// Two executions of one key overlap, as after a lost lock.
macro_rules! overlapping {
    ($pool:expr) => {
        let pool = $pool;
        ddl::create_idempotency_records(&pool).await.unwrap();
        let work = "UPDATE items SET amount = amount + 1 WHERE id = ";
        let mut first = pool.begin().await.unwrap();
        let of_first = format!("{work} 1");
        query(sqlx::AssertSqlSafe(of_first))
            .execute(&mut *first)
            .await
            .unwrap();
        record("k", 1).insert(&mut first, KEEP).await.unwrap();
        let second = tokio::spawn({
            let pool = pool.clone();
            async move {
                let mut second = pool.begin().await?;
                let of_second = format!("{work} 2");
                query(sqlx::AssertSqlSafe(of_second))
                    .execute(&mut *second)
                    .await?;
                record("k", 2).insert(&mut second, KEEP).await?;
                second.commit().await?;
                Ok(())
            }
        });
        // The second transaction may wait already or begin later. The outcome is the same.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!second.is_finished(), "it waits for the first transaction");
        first.commit().await.unwrap();
        let second = second.await.unwrap();
        assert!(is_recorded_already(&second, "k"), "{second:?}");
        let amounts = query_scalar("SELECT amount FROM items WHERE id <= 2 ORDER BY id");
        let amounts: Vec<i64> = amounts.fetch_all(&pool).await.unwrap();
        assert_eq!(
            amounts,
            [11, 20],
            "only the first transaction has an effect"
        );
        let store = SqlIdempotencyStore::new(pool);
        assert_eq!(store.find("k").await.unwrap().unwrap().token, 1);
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_overlapping_transactions_on_sqlite_commits() {
    let dir = tempfile::tempdir().unwrap();
    let file = SqliteConnectOptions::new().filename(dir.path().join("records.db"));
    let pool = SqlitePool::connect_with(file.create_if_missing(true)).await;
    let pool = pool.unwrap();
    let items = "CREATE TABLE items (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL); \
         INSERT INTO items VALUES (1, 10), (2, 20)";
    sqlx::raw_sql(items).execute(&pool).await.unwrap();
    overlapping!(pool);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_overlapping_transactions_on_postgres_commits() {
    let (_server, pool) = postgres().await;
    overlapping!(pool);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_overlapping_transactions_on_mariadb_commits() {
    let (_server, pool) = mariadb().await;
    overlapping!(pool);
}

/// A pool with one connection, on which sqlx 0.9 does not know the open transaction. It leaves such a connection behind if
/// a `Pool::begin` is dropped.
macro_rules! left_open {
    ($options:ident, $url:expr, $begin:literal) => {
        let pool = $options::new()
            .max_connections(1)
            .connect($url)
            .await
            .unwrap();
        ddl::create_idempotency_records(&pool).await.unwrap();
        let store = SqlIdempotencyStore::new(pool.clone());
        store
            .insert(&record("old", 1), Duration::ZERO)
            .await
            .unwrap();
        sqlx::raw_sql($begin).execute(&pool).await.unwrap();
        assert_eq!(store.delete_expired().await.unwrap(), 1);
        sqlx::raw_sql($begin).execute(&pool).await.unwrap();
        store.insert(&record("k", 1), KEEP).await.unwrap();
        // The connection ends with its open transaction.
        pool.close().await;
        let pool = $options::new().connect($url).await.unwrap();
        let store = SqlIdempotencyStore::new(pool);
        assert_eq!(store.find("k").await.unwrap(), Some(record("k", 1)));
        assert_eq!(store.delete_expired().await.unwrap(), 0);
    };
}

#[tokio::test]
async fn record_is_committed_on_a_postgres_connection_with_an_open_transaction() {
    let (server, _pool) = postgres().await;
    left_open!(PgPoolOptions, &server.url(), "BEGIN");
}

#[tokio::test]
async fn record_is_committed_on_a_mariadb_connection_with_an_open_transaction() {
    let (server, _pool) = mariadb().await;
    left_open!(MySqlPoolOptions, &server.url(), "START TRANSACTION");
}

#[tokio::test]
async fn new_record_is_found_on_a_mariadb_connection_with_an_old_snapshot() {
    let (server, others) = mariadb().await;
    ddl::create_idempotency_records(&others).await.unwrap();
    let pool = MySqlPoolOptions::new().max_connections(1);
    let pool = pool.connect(&server.url()).await.unwrap();
    sqlx::raw_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .execute(&pool)
        .await
        .unwrap();
    let others = SqlIdempotencyStore::new(others);
    others.insert(&record("k", 1), KEEP).await.unwrap();
    let store = SqlIdempotencyStore::new(pool);
    assert_eq!(store.find("k").await.unwrap(), Some(record("k", 1)));
}

/// Another process replaces an expired record after `find` has read it.
macro_rules! replaced {
    ($pool:expr) => {
        let pool = $pool;
        ddl::create_idempotency_records(&pool).await.unwrap();
        let store = SqlIdempotencyStore::new(pool.clone());
        store.insert(&record("k", 1), Duration::ZERO).await.unwrap();
        let mut other = pool.begin().await.unwrap();
        query("DELETE FROM leasehold_idempotency_records WHERE token = 1")
            .execute(&mut *other)
            .await
            .unwrap();
        record("k", 2).insert(&mut other, KEEP).await.unwrap();
        let found = tokio::spawn(async move { store.find("k").await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!found.is_finished(), "it waits for the other transaction");
        other.commit().await.unwrap();
        let found = found.await.unwrap().unwrap();
        assert_eq!(found, Some(record("k", 2)));
    };
}

#[tokio::test]
async fn record_that_replaces_an_expired_one_is_found_on_postgres() {
    let (_server, pool) = postgres().await;
    replaced!(pool);
}

#[tokio::test]
async fn record_that_replaces_an_expired_one_is_found_on_mariadb() {
    let (_server, pool) = mariadb().await;
    replaced!(pool);
}

#[tokio::test]
async fn missing_database_is_an_error_and_not_a_missing_record() {
    let pool = SqlitePool::connect_lazy("sqlite:///none/none").unwrap();
    let store = SqlIdempotencyStore::new(pool);
    assert!(matches!(store.find("k").await, Err(Error::Sqlx(_))));
    let inserted = store.insert(&record("k", 1), KEEP).await;
    assert!(matches!(inserted, Err(Error::Sqlx(_))));
    assert!(matches!(store.delete_expired().await, Err(Error::Sqlx(_))));
}

/// A balancer that sends reads to replicas would let a handler run twice, because a replica may be behind.
#[tokio::test]
async fn on_postgres_a_replica_does_not_answer_whether_a_request_was_handled() {
    let pair = ReplicatedPostgres::start_asynchronous().await.unwrap();
    let primary = PgPool::connect(&pair.primary().url()).await.unwrap();
    ddl::create_idempotency_records(&primary).await.unwrap();
    // A replica does not support the strictest level.
    let options: PgConnectOptions = pair.replica().url().parse().unwrap();
    let options = options.options([("default_transaction_isolation", "read committed")]);
    let replica = PgPool::connect_with(options).await.unwrap();
    let is_missing = "SELECT to_regclass('leasehold_idempotency_records') IS NULL";
    while query_scalar(is_missing).fetch_one(&replica).await.unwrap() {
        sleep(Duration::from_millis(5)).await;
    }
    let refused = SqlIdempotencyStore::new(replica).find("a").await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
}
