//! The fence store in SQL has the guarantees of the in-process store on each database.

use std::sync::Arc;
use std::time::Duration;

use leasehold_sqlx::{AdmitError, DEFAULT_LOCK_TIMEOUT, Error, FenceStore, SqlFenceStore, ddl};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::time::timeout;

use crate::fence::tools::{fence, mariadb, postgres, sqlite, token};

async fn keeps_its_promises(store: impl FenceStore + 'static) {
    let store: Arc<dyn FenceStore> = Arc::new(store);
    for accepted in [5, 5, 9, 9] {
        store.admit("a", token(accepted)).await.unwrap();
    }
    for refused in [1, 8] {
        let Err(AdmitError::Stale(stale)) = store.admit("a", token(refused)).await else {
            panic!("{refused} is older than 9")
        };
        assert_eq!((stale.token, stale.current), (token(refused), token(9)));
    }
    store.admit("b", token(1)).await.unwrap();
    let failed = store.admit("", token(1)).await.unwrap_err();
    assert!(matches!(failed, AdmitError::Store { .. }), "{failed:?}");

    for round in 0..10 {
        let resource = format!("race:{round}");
        let tasks: Vec<_> = (1..=16)
            .map(|number| {
                let (store, resource) = (Arc::clone(&store), resource.clone());
                tokio::spawn(async move { store.admit(&resource, token(number)).await.is_ok() })
            })
            .collect();
        let mut admitted = Vec::new();
        for task in tasks {
            admitted.push(task.await.unwrap());
        }
        assert!(admitted[15], "the newest is never refused");
        assert!(store.admit(&resource, token(15)).await.is_err());
        store.admit(&resource, token(16)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_fence_store_admits_newer_tokens_and_refuses_older_ones() {
    keeps_its_promises(SqlFenceStore::new(sqlite().await)).await;
    let (_server, pool) = postgres().await;
    keeps_its_promises(SqlFenceStore::new(pool)).await;
    let (_server, pool) = mariadb().await;
    keeps_its_promises(SqlFenceStore::new(pool)).await;
}

#[tokio::test]
async fn unreachable_database_fails_the_admission() {
    let pool = SqlitePool::connect_lazy("sqlite:///none/none").unwrap();
    let failed = SqlFenceStore::new(pool)
        .admit("a", token(1))
        .await
        .unwrap_err();
    assert!(matches!(failed, AdmitError::Store { .. }), "{failed:?}");
}

/// A holder has an open transaction, and the store uses another connection.
macro_rules! waits {
    ($pool:expr) => {
        let pool = $pool;
        let held = fence(9).begin(&pool, "a").await.unwrap();
        let store = SqlFenceStore::new(pool.clone());
        let limit = DEFAULT_LOCK_TIMEOUT + Duration::from_secs(5);
        let failed = timeout(limit, store.admit("a", token(9))).await;
        let failed = failed.expect("it waits too long").unwrap_err();
        let AdmitError::Store { source, .. } = &failed else {
            panic!("{failed:?}")
        };
        let source = source.downcast_ref::<Error>();
        assert!(matches!(source, Some(Error::Busy { .. })), "{source:?}");
        held.commit().await.unwrap();
        store.admit("a", token(9)).await.unwrap();
        assert!(store.admit("a", token(8)).await.is_err());
    };
}

#[tokio::test]
async fn on_sqlite_admission_waits_for_an_open_transaction_until_the_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let file = SqliteConnectOptions::new().filename(dir.path().join("store.db"));
    let pool = SqlitePool::connect_with(file.create_if_missing(true)).await;
    let pool = pool.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    waits!(pool);
}

#[tokio::test]
async fn on_postgres_admission_waits_for_an_open_transaction_until_the_timeout() {
    let (_server, pool) = postgres().await;
    waits!(pool);
}

#[tokio::test]
async fn on_mariadb_admission_waits_for_an_open_transaction_until_the_timeout() {
    let (_server, pool) = mariadb().await;
    waits!(pool);
}
