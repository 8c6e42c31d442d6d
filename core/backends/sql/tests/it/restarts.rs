//! Restarts of the database, and jumps of its clock.

use std::time::Duration;

use leasehold::backend::sql::{LockDatabase, SqlBackend, ddl};
use leasehold::backend::{Attempt, AttemptAnswer, Backend, RenewAnswer};
use leasehold::{FencingToken, Key, LockManager};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::{MySqlPool, PgPool, Pool, Postgres};
use tokio::time::sleep;

const TTL: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// Restarts the database while one client holds a lock and another client waits for it.
async fn lasts<DB: LockDatabase>(pool: Pool<DB>, restart: impl AsyncFnOnce()) {
    let [one, two] = [(); 2].map(|()| {
        let backend = SqlBackend::new(pool.clone());
        LockManager::builder().ttl(TTL).build(backend).unwrap()
    });
    let guard = one.lock("k").acquire().await.unwrap();
    let waiter = tokio::spawn(two.lock("k").wait(TTL).acquire());
    while one.inspect("k").await.unwrap().waiting == 0 {
        sleep(PAUSE).await;
    }
    restart().await;
    let seen = one.inspect("k").await.unwrap();
    assert_eq!(seen.token, Some(guard.token()));
    assert!(guard.is_valid() && !waiter.is_finished());
    let token = guard.token();
    guard.release().await.unwrap();
    assert!(waiter.await.unwrap().unwrap().token() > token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_and_waiters_survive_a_restart_of_postgres() {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    lasts(pool, async || server.restart().await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holders_and_waiters_survive_a_restart_of_mariadb() {
    let server = MariaDbServer::start().await.unwrap();
    let pool = MySqlPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    lasts(pool, async || server.restart().await.unwrap()).await;
}

async fn grant(backend: &SqlBackend<Postgres>, attempt: &Attempt) -> FencingToken {
    let answer = backend.attempt(attempt).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    token
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_increase_across_jumps_of_the_clock() {
    const HOUR: i64 = 3_600;
    let clock = ClockShim::off_by(0).unwrap();
    let server = PostgresServer::builder().wearing(&clock).start();
    let server = server.await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    let backend = SqlBackend::new(pool);
    let key = Key::new("", "k").unwrap();
    let [first, second, third] = [(); 3].map(|()| Attempt::new(key.clone(), TTL, false));

    // A jump forward ends the lease.
    let early = grant(&backend, &first).await;
    clock.set(HOUR).unwrap();
    let renewed = backend.renew(&[first.claim(early)]).await;
    assert!(
        matches!(renewed[..], [Ok(RenewAnswer::Gone)]),
        "{renewed:?}"
    );
    let ahead = grant(&backend, &second).await;
    assert!(ahead > early);

    // A jump back extends the lease.
    clock.set(0).unwrap();
    let busy = backend.attempt(&third).await.unwrap();
    assert!(matches!(busy, AttemptAnswer::Busy { .. }), "{busy:?}");
    let lasts = backend.inspect(&key).await.unwrap().expires_in.unwrap();
    assert!(lasts > TTL * 2, "{lasts:?}");
    backend.release(&second.claim(ahead)).await.unwrap();
    assert!(grant(&backend, &third).await > ahead);
    drop(server);
}
