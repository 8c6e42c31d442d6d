//! A late statement of an ended attempt does not acquire the lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use leasehold::Key;
use leasehold::backend::sql::{LockDatabase, SqlBackend, ddl};
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::MariaDbServer;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::pool::PoolOptions;
use sqlx::{
    AssertSqlSafe, Connection, Executor, MySql, MySqlPool, PgPool, Pool, Postgres, SqlitePool,
    Transaction, query, query_scalar,
};
use tokio::time::{Instant, sleep, timeout};

use crate::sqlite::LockFile;

type OptionsOf<DB> = <<DB as sqlx::Database>::Connection as Connection>::Options;

const TTL: Duration = Duration::from_secs(30);
/// `MariaDB` shows the same waiting transactions again if they were read within the last 100 ms.
const PAUSE: Duration = Duration::from_millis(200);

/// Another client inserts the row of the new key, and does not commit.
const INSERT: &str = "INSERT INTO leasehold_locks \
     (lock_key, version, token, expires_at, kept_until, closed_until) VALUES ('late:new', 0, 0, 0, 0, 0)";
/// Another client changes the row of the released key, and does not commit.
const CHANGE: &str =
    "UPDATE leasehold_locks SET version = version + 1 WHERE lock_key = 'late:released'";

/// Counts the statements of this pool that acquire and wait for a lock of the database.
const WAITING_ON_POSTGRES: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
     AND application_name = current_setting('application_name') AND query LIKE 'INSERT INTO leasehold_locks AS%'";
const WAITING_ON_MARIADB: &str =
    "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";

/// A pool, and what must live as long.
struct Place<P, K> {
    pool: P,
    _kept: K,
}

impl Place<PgPool, ()> {
    async fn create(name: &str) -> Self {
        let pool = crate::postgres::pool(name).await;
        Self { pool, _kept: () }
    }

    async fn waiting(&self) -> i64 {
        query_scalar(WAITING_ON_POSTGRES)
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }
}

/// The server has no other clients that may wait.
impl Place<MySqlPool, MariaDbServer> {
    async fn create(_name: &str) -> Self {
        let server = MariaDbServer::start().await.unwrap();
        let options = MySqlPoolOptions::new().max_connections(5);
        let pool = options.connect(&server.url()).await.unwrap();
        ddl::create_locks(&pool).await.unwrap();
        Self {
            pool,
            _kept: server,
        }
    }

    async fn waiting(&self) -> i64 {
        query_scalar(WAITING_ON_MARIADB)
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }
}

impl Place<SqlitePool, LockFile> {
    async fn create(_name: &str) -> Self {
        let file = LockFile::create().await;
        Self {
            pool: file.pool.clone(),
            _kept: file,
        }
    }

    /// All connections in use have a statement that waits, except for the connection of the blocker.
    #[allow(clippy::unused_async, reason = "as on the other databases")]
    async fn waiting(&self) -> i64 {
        i64::from(self.pool.size()) - i64::try_from(self.pool.num_idle()).unwrap() - 1
    }
}

/// Returns a backend that knows the clock of the database, and its lock.
async fn backend<DB: LockDatabase>(pool: &Pool<DB>, name: &str) -> (SqlBackend<DB>, Key) {
    let backend = SqlBackend::new(pool.clone());
    let key = Key::new("", name).unwrap();
    assert!(backend.inspect(&key).await.unwrap().is_free());
    (backend, key)
}

/// Drops an attempt while its statement waits for `blocker`, cleans up, and then lets the statement go on.
async fn cleanup_overtakes<DB: LockDatabase>(
    pool: &Pool<DB>,
    backend: &SqlBackend<DB>,
    key: Key,
    blocker: Transaction<'_, DB>,
    waiting: impl AsyncFn() -> i64,
) {
    let late = Attempt::new(key.clone(), TTL, false);
    let (mut attempt, begin) = (backend.attempt(&late), Instant::now());
    loop {
        assert!(begin.elapsed() < TTL, "no statement waits");
        let ended = timeout(PAUSE, &mut attempt).await;
        assert!(ended.is_err(), "{ended:?}");
        if waiting().await == 1 {
            break;
        }
    }
    drop(attempt);

    let cleanup = tokio::spawn({
        let (backend, late) = (backend.clone(), late.clone());
        async move { backend.cleanup(&late).await.unwrap() }
    });
    sleep(PAUSE).await;
    blocker.rollback().await.unwrap();
    cleanup.await.unwrap();
    // The connection of the late statement is closed, but the server still executes the statement.
    while pool.num_idle() < pool.size() as usize || waiting().await > 0 {
        sleep(PAUSE).await;
    }
    sleep(PAUSE).await;
    let seen = backend.inspect(&key).await.unwrap();
    assert!(seen.is_free(), "{seen:?}");

    let next = Attempt::new(key, TTL, false);
    let answer = backend.attempt(&next).await.unwrap();
    assert!(
        matches!(answer, AttemptAnswer::Granted { .. }),
        "{answer:?}"
    );
}

async fn release<DB: LockDatabase>(pool: &Pool<DB>, backend: &SqlBackend<DB>, key: &Key) {
    let earlier = Attempt::new(key.clone(), TTL, false);
    let answer = backend.attempt(&earlier).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    backend.release(&earlier.claim(token)).await.unwrap();
    // A release also deletes old rows in the background.
    sleep(PAUSE).await;
    while pool.num_idle() < pool.size() as usize {
        sleep(PAUSE).await;
    }
}

macro_rules! late_statements {
    ($($name:ident: $place:ty;)+) => {
        $(
            mod $name {
                use super::*;

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn a_late_statement_for_a_new_key_does_not_acquire() {
                    let place = <$place>::create("late:new").await;
                    let pool = &place.pool;
                    let (backend, key) = backend(pool, "late:new").await;
                    let mut blocker = pool.begin().await.unwrap();
                    query(INSERT).execute(&mut *blocker).await.unwrap();
                    cleanup_overtakes(pool, &backend, key, blocker, async || place.waiting().await).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn a_late_statement_for_a_released_key_does_not_acquire() {
                    let place = <$place>::create("late:released").await;
                    let pool = &place.pool;
                    let (backend, key) = backend(pool, "late:released").await;
                    release(pool, &backend, &key).await;
                    let mut blocker = pool.begin().await.unwrap();
                    query(CHANGE).execute(&mut *blocker).await.unwrap();
                    cleanup_overtakes(pool, &backend, key, blocker, async || place.waiting().await).await;
                }
            }
        )+
    };
}

/// Delivers the statement of a dropped attempt after its cleanup. `link` opens a connection through `proxy`, and `direct`
/// does not.
async fn a_statement_delivered_after_its_cleanup_does_not_acquire<DB: LockDatabase>(
    link: OptionsOf<DB>,
    direct: OptionsOf<DB>,
    proxy: Proxy,
) {
    for name in ["delivered:released", "delivered:new"] {
        // Without a test of the connection, the first held message is the statement.
        let pool = PoolOptions::<DB>::new().test_before_acquire(false);
        let pool = pool.max_connections(1);
        let pool = pool.connect_with(link.clone()).await.unwrap();
        let (backend, first) = backend(&pool, "delivered:released").await;
        // Now the connection has the prepared statement.
        release(&pool, &backend, &first).await;
        pool.set_connect_options(direct.clone());

        proxy.set(Direction::ToServer, Traffic::Hold);
        let key = Key::new("", name).unwrap();
        let late = Attempt::new(key.clone(), TTL, false);
        let mut attempt = backend.attempt(&late);
        let held = proxy.until("the statement is held", |it| it.held > 0);
        tokio::select! {
            answer = &mut attempt => panic!("{answer:?}"),
            held = held => drop(held.unwrap()),
        }
        drop(attempt);
        backend.cleanup(&late).await.unwrap();
        proxy.deliver_held().await.unwrap();
        let closed = proxy.until("the connection is closed", |it| it.open == 0);
        closed.await.unwrap();
        let seen = backend.inspect(&key).await.unwrap();
        assert!(seen.is_free(), "{name}: {seen:?}");
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_delivered_after_its_cleanup_does_not_acquire_on_postgres() {
    let place = <Place<PgPool, ()>>::create("delivered").await;
    let direct = place.pool.connect_options().as_ref().clone();
    let proxy = Proxy::start_bytes(direct.get_port()).await.unwrap();
    let link = direct.clone().port(proxy.port());
    a_statement_delivered_after_its_cleanup_does_not_acquire::<Postgres>(link, direct, proxy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_delivered_after_its_cleanup_does_not_acquire_on_mariadb() {
    let place = <Place<MySqlPool, MariaDbServer>>::create("delivered").await;
    let direct = place.pool.connect_options().as_ref().clone();
    let proxy = Proxy::start_bytes(direct.get_port()).await.unwrap();
    let link = direct.clone().port(proxy.port());
    a_statement_delivered_after_its_cleanup_does_not_acquire::<MySql>(link, direct, proxy).await;
}

late_statements! {
    on_postgres: Place<PgPool, ()>;
    on_mariadb: Place<MySqlPool, MariaDbServer>;
    on_sqlite: Place<SqlitePool, LockFile>;
}

/// The time on this connection is an hour later.
const AN_HOUR_LATER: &str = "SET timestamp = UNIX_TIMESTAMP(SYSDATE()) + 3600";

/// Begins the first statement of an attempt after its expiry, on a connection with this SQL mode.
async fn expired_statement_does_not_acquire(sql_mode: &'static str) {
    let server = MariaDbServer::start().await.unwrap();
    let is_next_late = Arc::new(AtomicBool::default());
    let is_late = Arc::clone(&is_next_late);
    let options = MySqlPoolOptions::new().max_connections(1);
    let options = options.before_acquire(move |connection, _| {
        let is_late = is_late.swap(false, Ordering::SeqCst);
        Box::pin(async move {
            let mode = format!("SET timestamp = DEFAULT, sql_mode = '{sql_mode}'");
            connection.execute(AssertSqlSafe(mode)).await?;
            if is_late {
                connection.execute(AN_HOUR_LATER).await?;
            }
            Ok(true)
        })
    });
    let pool = options.connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    let (backend, released) = backend(&pool, "released").await;
    release(&pool, &backend, &released).await;

    for key in [Key::new("", "new").unwrap(), released] {
        is_next_late.store(true, Ordering::SeqCst);
        let attempt = Attempt::new(key, TTL, false);
        let answer = backend.attempt(&attempt).await.unwrap();
        assert!(!is_next_late.load(Ordering::SeqCst));
        let AttemptAnswer::Granted { token, .. } = answer else {
            panic!("{answer:?}")
        };
        // A later statement has acquired the lock: the token of the first one would be its time.
        let soon = (SystemTime::now() + TTL).duration_since(SystemTime::UNIX_EPOCH);
        let soon = i64::try_from(soon.unwrap().as_micros()).unwrap();
        assert!(token.get() < soon, "{token}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_statement_does_not_acquire_on_mariadb() {
    expired_statement_does_not_acquire("STRICT_ALL_TABLES").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_statement_does_not_acquire_on_mariadb_without_strict_mode() {
    expired_statement_does_not_acquire("").await;
}
