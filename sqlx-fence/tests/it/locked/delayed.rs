//! Requests and replies of `commit` that the network delays or loses.

use leasehold::EndReason;
use leasehold_sqlx::{Error, LockedTransaction};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use tokio::time::{sleep, timeout};

use crate::locked::tools::{
    SHORT, SOON, acquired, expire, is_lost, item, manager, mariadb, mariadb_server, postgres,
    postgres_server, run, seen,
};

/// The request of A's commit is delayed until B has acquired the lock and written. Then the reply to a commit is lost.
macro_rules! delayed {
    ($options:ty, $server:expr, $pool:expr) => {{
        let (server, pool) = ($server, $pool);
        let proxy = Proxy::start_bytes(server.port()).await.unwrap();
        let port = |port| format!(":{port}");
        let url = server
            .url()
            .replace(&port(server.port()), &port(proxy.port()));
        assert_ne!(url, server.url());
        let behind = <$options>::new().max_connections(1);
        let behind = behind.connect(&url).await.unwrap();
        item!(&pool, "delayed");
        item!(&pool, "next");
        let guard = acquired(&manager(&pool), "delayed").await;
        let mut tx = LockedTransaction::begin(&behind, &guard).await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = 11 WHERE id = 'delayed'"
        );
        proxy.set(Direction::ToServer, Traffic::Hold);
        let commit = tokio::spawn(tx.commit());
        sleep(SHORT).await;
        assert!(!commit.is_finished());

        // The row of the lock is not locked yet, so B acquires the lock.
        expire!(&pool, "delayed");
        let next = timeout(SOON, acquired(&manager(&pool), "delayed"))
            .await
            .unwrap();
        let mut tx = LockedTransaction::begin(&pool, &next).await.unwrap();
        run!(&mut *tx, "UPDATE items SET amount = 20 WHERE id = 'next'");
        tx.commit().await.unwrap();

        proxy.pass();
        proxy.deliver_held().await.unwrap();
        let committed = timeout(SOON, commit).await.unwrap().unwrap();
        is_lost(&committed, EndReason::Gone);
        assert_eq!(seen!(&pool, "delayed"), (10, 0));
        assert_eq!(seen!(&pool, "next"), (20, 1));

        let mut tx = LockedTransaction::begin(&behind, &next).await.unwrap();
        run!(
            &mut *tx,
            "UPDATE items SET amount = 30 WHERE id = 'delayed'"
        );
        proxy.set(Direction::ToClient, Traffic::Hold);
        let commit = tokio::spawn(tx.commit());
        while seen!(&pool, "delayed") != (30, 1) {
            sleep(SHORT / 10).await;
        }
        proxy.cut();
        let unknown = timeout(SOON, commit).await.unwrap().unwrap();
        assert!(matches!(unknown, Err(Error::Sqlx(_))), "{unknown:?}");
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_delayed_commit_is_refused_and_a_lost_reply_is_an_error() {
    delayed!(PgPoolOptions, postgres_server().await, postgres().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_a_delayed_commit_is_refused_and_a_lost_reply_is_an_error() {
    delayed!(MySqlPoolOptions, mariadb_server().await, mariadb().await);
}
