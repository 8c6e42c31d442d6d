//! Small pools, pools that the application uses up, and pools whose connections are lost.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use leasehold::backend::sql::{LockDatabase, SqlBackend};
use leasehold::backend::{Applied, Attempt, Backend};
use leasehold::{Error, Key, LockManager};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{MySqlPool, PgPool, Pool, query};
use tokio::time::{sleep, timeout};

use crate::contention::{all_get_their_turns, all_get_their_turns_without_some_replies};
use crate::sqlite::LockFile;
use crate::{mariadb, postgres};

const TTL: Duration = Duration::from_secs(30);

/// The timeout of a pool without a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(700);

/// Returns the URL of a server through a proxy.
pub(super) fn through(url: &str, proxy: &Proxy) -> String {
    let (before, rest) = url.rsplit_once(':').unwrap();
    let (_port, database) = rest.split_once('/').unwrap();
    format!("{before}:{}/{database}", proxy.port())
}

/// Returns the port in a URL.
pub(super) fn port(url: &str) -> u16 {
    let (_, rest) = url.rsplit_once(':').unwrap();
    rest.split_once('/').unwrap().0.parse().unwrap()
}

/// Makes a pool open its connections.
pub(super) async fn fill(locks: &LockManager) {
    let pairs = (0..30).map(|key| {
        let acquire = locks.lock(format!("fill:{key}")).acquire();
        async { acquire.await.unwrap().release().await.unwrap() }
    });
    join_all(pairs).await;
}

async fn small_postgres(connections: u32) -> PgPool {
    let options = PgPoolOptions::new().max_connections(connections);
    let options = options.acquire_timeout(ACQUIRE_TIMEOUT * 20);
    options.connect(&postgres::url().await).await.unwrap()
}

async fn small_mariadb(connections: u32) -> MySqlPool {
    let options = MySqlPoolOptions::new().max_connections(connections);
    let options = options.acquire_timeout(ACQUIRE_TIMEOUT * 20);
    options.connect(&mariadb::url().await).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pool_of_one_connection_serves_all_tasks_on_postgres() {
    all_get_their_turns(small_postgres(1).await, "pools:one").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pool_of_one_connection_serves_all_tasks_on_mariadb() {
    all_get_their_turns(small_mariadb(1).await, "pools:one").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pool_of_one_connection_serves_all_tasks_on_sqlite() {
    let file = LockFile::create().await;
    let options = SqliteConnectOptions::new().filename(file.path());
    let pool = SqlitePoolOptions::new().max_connections(1);
    all_get_their_turns(pool.connect_with(options).await.unwrap(), "pools:one").await;
}

/// Uses all connections of the pool for a while.
async fn used_up<DB: LockDatabase>(pool: Pool<DB>, key: &str) {
    // The timeout of the pool comes first.
    let locks = LockManager::builder()
        .ttl(TTL)
        .command_timeout(ACQUIRE_TIMEOUT * 10)
        .build(SqlBackend::new(pool.clone()))
        .unwrap();
    let guard = locks.lock(key).acquire().await.unwrap();
    let mut used = Vec::new();
    for _ in 0..pool.options().get_max_connections() {
        used.push(pool.acquire().await.unwrap());
    }

    let denied = locks.lock(key).try_acquire().await;
    let Err(Error::Backend {
        applied, source, ..
    }) = denied
    else {
        panic!("{denied:?}")
    };
    assert_eq!(applied, Applied::No);
    assert!(source.is_temporary(), "{source:?}");
    assert!(
        source
            .to_string()
            .contains("the pool returned no connection"),
        "{source}"
    );

    // A caller that waits does so until the pool has a connection again.
    let waiter = tokio::spawn(locks.lock(key).wait(TTL).acquire());
    sleep(ACQUIRE_TIMEOUT * 2).await;
    assert!(guard.is_valid() && !waiter.is_finished());
    used.clear();
    let token = guard.token();
    guard.release().await.unwrap();
    assert!(waiter.await.unwrap().unwrap().token() > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exhausted_pool_delays_waiters_on_postgres() {
    let options = PgPoolOptions::new().max_connections(2);
    let options = options.acquire_timeout(ACQUIRE_TIMEOUT);
    let pool = options.connect(&postgres::url().await).await.unwrap();
    used_up(pool, "pools:used").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exhausted_pool_delays_waiters_on_mariadb() {
    let options = MySqlPoolOptions::new().max_connections(2);
    let options = options.acquire_timeout(ACQUIRE_TIMEOUT);
    let pool = options.connect(&mariadb::url().await).await.unwrap();
    used_up(pool, "pools:used").await;
}

/// The server, or a pooler or firewall in front of it, ends all connections of the pool again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminated_connections_lose_no_lock_on_postgres() {
    const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = 'pools:terminated'";
    let options: PgConnectOptions = postgres::url().await.parse().unwrap();
    let pool = PgPoolOptions::new().max_connections(5);
    let pool = pool.connect_with(options.application_name("pools:terminated"));
    let all = pool.await.unwrap();
    let all = tokio::spawn(all_get_their_turns_without_some_replies(
        all,
        "pools:terminated",
    ));
    let admin = postgres::pool("admin").await;
    // The pauses become longer, because a busy machine does nothing within a short one.
    let mut pause = Duration::from_millis(100);
    while !all.is_finished() {
        query(TERMINATE).execute(&admin).await.unwrap();
        sleep(pause).await;
        pause += pause / 20;
    }
    all.await.unwrap();
}

/// The only connection of the pool loses a reply, as when the server's machine fails. The pool needs a new connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unresponsive_connection_does_not_block_its_pool_on_postgres() {
    const RECOVERS: Duration = Duration::from_secs(60);
    let url = postgres::url().await;
    let proxy = Proxy::start_bytes(port(&url)).await.unwrap();
    let url = through(&url, &proxy);
    let options = PgPoolOptions::new().max_connections(1);
    let options = options.test_before_acquire(false);
    let pool = options.connect(&url).await.unwrap();
    let backend = SqlBackend::new(pool.clone());
    let key = Key::new("", "pools:silent").unwrap();
    assert!(backend.inspect(&key).await.unwrap().is_free());
    while pool.num_idle() == 0 {
        sleep(Duration::from_millis(5)).await;
    }

    proxy.set(Direction::ToClient, Traffic::Drop);
    let lost = Attempt::new(key.clone(), TTL, false);
    let dropped = timeout(Duration::from_millis(200), backend.attempt(&lost)).await;
    assert!(dropped.is_err(), "{dropped:?}");
    proxy.pass();

    let begun = Instant::now();
    while backend.cleanup(&lost).await.is_err() {
        assert!(begun.elapsed() < RECOVERS, "{:?}", begun.elapsed());
    }
    assert!(begun.elapsed() < RECOVERS, "{:?}", begun.elapsed());
    assert!(backend.inspect(&key).await.unwrap().is_free());
}
