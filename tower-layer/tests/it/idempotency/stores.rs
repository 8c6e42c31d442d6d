//! The first request and its repeats, with each store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use http::StatusCode;
use leasehold::LockManager;
use leasehold_sqlx::{FencedDatabase, IdempotencyRecord, SqlIdempotencyStore};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer, RedisServer};
use leasehold_tower::IdempotencyLayer;
use sqlx::SqlitePool;
use sqlx::mysql::MySqlPool;
use sqlx::postgres::PgPool;
use sqlx::{Acquire, Pool};

use super::site::{LOCK, Layer, Site, in_sqlite, key, pay};

/// Two instances have the same store, but each has its own layer and manager.
async fn replays(instances: [Layer; 2]) {
    let other_bytes: Vec<u8> = (0..=255).collect();
    let sites = instances.map(|layer| {
        let body = other_bytes.clone();
        Site::new(layer, move |_, _| {
            let body = body.clone();
            async move {
                // Long enough for all concurrent requests to arrive.
                tokio::time::sleep(Duration::from_millis(20)).await;
                let headers = [
                    ("location", "/payments/1"),
                    ("etag", "\"1\""),
                    ("set-cookie", "session=1"),
                    ("content-type", "application/octet-stream"),
                ];
                (StatusCode::CREATED, headers, body)
            }
        })
    });
    let runs = || sites.iter().map(Site::runs).sum::<usize>();

    // The string of the draft and the bare value are the same key.
    let first = sites[0].send(pay("\"k\"", "10")).await;
    assert_eq!(first.status, 201);
    assert_eq!(first.body, other_bytes);
    assert_eq!(first.headers["set-cookie"], "session=1");
    assert!(!first.is_replay());
    for site in &sites {
        for key in ["k", "\"k\""] {
            site.send(pay(key, "10")).await.assert_replays(&first);
        }
        let reused = site.refused(pay("k", "11")).await;
        assert_eq!(reused, (422, "key-reused".to_owned()));
    }
    assert_eq!(runs(), 1);

    // Of many concurrent requests one runs, and the others get its response.
    let all = (0..20).map(|turn| sites[turn % 2].send(pay("many", "10")));
    let (firsts, repeats): (Vec<_>, Vec<_>) = join_all(all)
        .await
        .into_iter()
        .partition(|it| !it.is_replay());
    assert_eq!((firsts.len(), repeats.len()), (1, 19));
    for repeat in repeats {
        repeat.assert_replays(&firsts[0]);
    }
    assert_eq!(runs(), 2);
}

const WAIT: Duration = Duration::from_secs(30);

async fn replays_in_a_database<DB: FencedDatabase>(pool: Pool<DB>)
where
    for<'p> &'p Pool<DB>: Acquire<'p, Database = DB>,
{
    leasehold_sqlx::ddl::create_idempotency_records(&pool)
        .await
        .unwrap();
    let locks = LockManager::in_process();
    let layer = || {
        let store = SqlIdempotencyStore::new(pool.clone());
        IdempotencyLayer::new(locks.clone(), key())
            .store(store)
            .wait(WAIT)
    };
    replays([layer(), layer()]).await;
}

#[tokio::test]
async fn repeats_get_the_response_stored_in_process() {
    let locks = LockManager::in_process();
    let layer = || IdempotencyLayer::new(locks.clone(), key()).wait(WAIT);
    replays([layer(), layer()]).await;
}

#[tokio::test]
async fn repeats_get_the_response_stored_in_redis() {
    let server = RedisServer::start().await.unwrap();
    let mut layers = Vec::new();
    for _ in 0..2 {
        let locks = LockManager::connect(&server.url()).await.unwrap();
        layers.push(IdempotencyLayer::new(locks, key()).wait(WAIT));
    }
    replays(layers.try_into().unwrap()).await;
}

#[tokio::test]
async fn repeats_get_the_response_stored_in_sqlite() {
    let (_layer, pool) = in_sqlite(&LockManager::in_process()).await;
    replays_in_a_database(pool).await;
}

#[tokio::test]
async fn repeats_get_the_response_stored_in_postgres() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    replays_in_a_database(pool).await;
}

#[tokio::test]
async fn repeats_get_the_response_stored_in_mariadb() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    replays_in_a_database(pool).await;
}

#[tokio::test]
async fn lock_backend_store_runs_failed_requests_again_and_refuses_large_responses() {
    let server = RedisServer::start().await.unwrap();
    for locks in [
        LockManager::in_process(),
        LockManager::connect(&server.url()).await.unwrap(),
    ] {
        let layer = IdempotencyLayer::new(locks.clone(), key());
        let panicked = Arc::new(AtomicBool::new(false));
        let site = Site::new(layer, move |run, _| {
            let panicked = Arc::clone(&panicked);
            async move {
                assert!(panicked.swap(true, Ordering::SeqCst), "a bug");
                match run {
                    2 => (
                        StatusCode::SERVICE_UNAVAILABLE,
                        [("retry-after", "1")],
                        "busy".to_owned(),
                    ),
                    3 => (StatusCode::OK, [("x", "1")], "x".repeat(64 * 1024 + 1)),
                    _ => (StatusCode::OK, [("x", "1")], format!("run {run}")),
                }
            }
        });
        let first = site.clone();
        let first = tokio::spawn(async move { first.send(pay("k", "10")).await });
        assert!(first.await.unwrap_err().is_panic());
        crate::tools::until_free(&locks, LOCK).await;
        assert_eq!(site.send(pay("k", "10")).await.status, 503);
        assert_eq!(
            site.refused(pay("k", "10")).await,
            (500, "not-recorded".to_owned())
        );
        let last = site.send(pay("k", "10")).await;
        assert_eq!(last.body, "run 4");
        site.send(pay("k", "10")).await.assert_replays(&last);
    }
}

/// Asserts that the layer refuses a request permanently, and does not run it.
async fn is_misconfigured<DB: FencedDatabase>(store: SqlIdempotencyStore<DB>) {
    let layer = IdempotencyLayer::new(LockManager::in_process(), key()).store(store);
    let site = Site::new(layer, async |_, _| "done");
    let refused = site.raw(pay("k", "10")).await;
    assert!(!refused.headers().contains_key("retry-after"));
    let refused = crate::tools::problem(refused).await;
    assert_eq!(refused, (500, "misconfigured".to_owned()));
    assert_eq!(site.runs(), 0);
}

#[tokio::test]
async fn record_that_cannot_be_decoded_is_a_permanent_error() {
    let (_layer, pool) = in_sqlite(&LockManager::in_process()).await;
    let store = SqlIdempotencyStore::new(pool);
    let record = IdempotencyRecord {
        key: LOCK.to_owned(),
        token: 1,
        response: b"shipped".to_vec(),
    };
    let keep = Duration::from_secs(60);
    store.insert(&record, keep).await.unwrap();
    is_misconfigured(store).await;
}

#[tokio::test]
async fn missing_table_is_a_permanent_error() {
    let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
    is_misconfigured(SqlIdempotencyStore::new(pool)).await;
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    is_misconfigured(SqlIdempotencyStore::new(pool)).await;
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    is_misconfigured(SqlIdempotencyStore::new(pool)).await;
}
