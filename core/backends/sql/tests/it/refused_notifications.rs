//! A role that may not call `pg_notify`, as on hardened servers. Other databases with the protocol of Postgres do not have
//! the function.

use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold::backend::sql::{SqlBackend, ddl};
use leasehold_testkit::servers::PostgresServer;
use sqlx::{PgPool, Postgres, query_scalar, raw_sql};
use tokio::time::sleep;

const TTL: Duration = Duration::from_secs(600);

/// A limit that only a fault reaches, and far less than the TTL.
const SOON: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiter_of_another_process_is_served_although_the_database_refuses_to_notify() {
    let server = PostgresServer::start().await.unwrap();
    let admin = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&admin).await.unwrap();
    for sql in [
        "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC",
        "CREATE ROLE app LOGIN",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_locks TO app",
    ] {
        raw_sql(sql).execute(&admin).await.unwrap();
    }
    let url = server.url().replace("postgres@", "app@");
    let mut locks = Vec::new();
    for _ in 0..2 {
        let backend = SqlBackend::<Postgres>::connect(&url).await.unwrap();
        locks.push(LockManager::builder().ttl(TTL).build(backend).unwrap());
    }
    for _ in 0..3 {
        let guard = locks[0].lock("k").acquire().await.unwrap();
        let waiter = tokio::spawn(locks[1].lock("k").wait(TTL).acquire());
        while locks[0].inspect("k").await.unwrap().waiting == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        let token = guard.token();
        guard.release().await.unwrap();
        let begun = Instant::now();
        let next = waiter.await.unwrap().unwrap();
        assert!(next.token() > token && begun.elapsed() < SOON);
        next.release().await.unwrap();
    }

    // A waiter does not repeat what the database refuses: without notifications, its transactions only read.
    let guard = locks[0].lock("k").acquire().await.unwrap();
    let waiter = tokio::spawn(locks[1].lock("k").wait(TTL).acquire());
    while locks[0].inspect("k").await.unwrap().waiting == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    let refused = || async {
        let count = "SELECT xact_rollback FROM pg_stat_database WHERE datname = 'postgres'";
        query_scalar::<_, i64>(count)
            .fetch_one(&admin)
            .await
            .unwrap()
    };
    let before = refused().await;
    sleep(Duration::from_secs(3)).await;
    let more = refused().await - before;
    assert!(more < 6, "{more} refused statements in three seconds");
    guard.release().await.unwrap();
    let next = waiter.await.unwrap().unwrap();
    next.release().await.unwrap();
}
