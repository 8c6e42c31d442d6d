//! Planned switchovers: the old primary becomes read-only, and keeps its connections. New connections reach the new
//! primary.

use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold::backend::sql::{LockDatabase, SqlBackend, ddl};
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{MySqlPool, PgPool, Pool, raw_sql};

use crate::pools::{fill, through};

const TTL: Duration = Duration::from_secs(30);

/// A limit that only a fault reaches.
const SOON: Duration = Duration::from_secs(60);

/// Acquires locks until the new primary has one.
async fn reaches_the_new_primary<DB: LockDatabase>(locks: &LockManager, new: Pool<DB>) {
    let new = LockManager::new(SqlBackend::new(new));
    let begun = Instant::now();
    loop {
        let guard = locks.lock("k").ttl(TTL).wait(TTL).acquire().await.unwrap();
        let token = guard.token();
        let seen = new.inspect("k").await.unwrap();
        // The new primary does not know a lock of the old one.
        let _lost = guard.release().await;
        if seen.token == Some(token) {
            return;
        }
        assert!(begun.elapsed() < SOON, "{seen:?}");
    }
}

const READ_ONLY: &str = "ALTER SYSTEM SET default_transaction_read_only = on";

async fn make_read_only(server: &PostgresServer) {
    server.query(READ_ONLY).await.unwrap();
    server.query("SELECT pg_reload_conf()").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_locks_move_to_the_new_primary() {
    let [old, new] = [PostgresServer::start().await, PostgresServer::start().await];
    let (old, new) = (old.unwrap(), new.unwrap());
    let there = PgPool::connect(&new.url()).await.unwrap();
    ddl::create_locks(&there).await.unwrap();

    let proxy = Proxy::start_bytes(old.port()).await.unwrap();
    let url = through(&old.url(), &proxy);
    let locks = LockManager::new(SqlBackend::<sqlx::Postgres>::connect(&url).await.unwrap());
    fill(&locks).await;
    make_read_only(&old).await;
    proxy.redirect(new.port());
    reaches_the_new_primary(&locks, there).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_locks_of_the_programs_pool_move_to_the_new_primary() {
    let [old, new] = [MariaDbServer::start().await, MariaDbServer::start().await];
    let (old, new) = (old.unwrap(), new.unwrap());
    // A superuser can write to a server that is read-only.
    let user = "CREATE USER app@localhost; GRANT ALL ON test.* TO app@localhost";
    for server in [&old, &new] {
        let admin = MySqlPool::connect(&server.url()).await.unwrap();
        raw_sql(user).execute(&admin).await.unwrap();
        ddl::create_locks(&admin).await.unwrap();
    }
    let there = MySqlPool::connect(&new.url()).await.unwrap();

    let proxy = Proxy::start_bytes(old.port()).await.unwrap();
    let url = through(&old.url(), &proxy).replace("root@", "app@");
    let locks = LockManager::new(SqlBackend::new(MySqlPool::connect(&url).await.unwrap()));
    fill(&locks).await;
    let admin = MySqlPool::connect(&old.url()).await.unwrap();
    let read_only = raw_sql("SET GLOBAL read_only = 1");
    read_only.execute(&admin).await.unwrap();
    proxy.redirect(new.port());
    reaches_the_new_primary(&locks, there).await;
}
