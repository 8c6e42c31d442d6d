//! The number of statements that many waiters of one process cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use leasehold::Key;
use leasehold::backend::sql::{LockDatabase, SqlBackend};
use leasehold::backend::{Attempt, Backend};
use sqlx::{MySql, Pool, Postgres, query_as, query_scalar};
use tokio::time::{Instant, sleep, timeout};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

use crate::waiters::{queue, take};

const WAITERS: usize = 1000;
const TTL: Duration = Duration::from_secs(60);

/// The time during which the statements are counted.
const COUNTED: Duration = Duration::from_secs(6);

/// Counts the statements of this thread.
#[derive(Debug, Clone, Default)]
struct Statements(Arc<AtomicU64>);

impl Statements {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns the row's version, and the end of its last position in seconds from now.
async fn row(pool: &Pool<Postgres>, key: &Key) -> (i64, f64) {
    let row = "SELECT version, (kept_until / 1000000.0 - EXTRACT(EPOCH FROM now()))::FLOAT8 \
         FROM leasehold_locks WHERE lock_key = $1";
    query_as(row)
        .bind(key.full())
        .fetch_one(pool)
        .await
        .unwrap()
}

/// Queues many waiters, and returns the numbers of statements until all of them wait, and per second from then on.
async fn count<DB: LockDatabase>(
    pool: &Pool<DB>,
    key: &Key,
    settle: Duration,
    counted: impl AsyncFnOnce(),
) -> (u64, f64) {
    let statements = Statements::default();
    let _guard = tracing::subscriber::set_default(Registry::default().with(statements.clone()));
    let backend = SqlBackend::new(pool.clone());
    take(&backend, &Attempt::new(key.clone(), TTL, false)).await;
    let waiters = (0..WAITERS).map(|_| Attempt::new(key.clone(), TTL, true));
    let waiters: Vec<Attempt> = waiters.collect();
    let begin = statements.get();
    join_all(waiters.iter().map(|it| queue(&backend, it))).await;
    let to_queue = statements.get() - begin;

    let waits = join_all(waiters.iter().map(|it| backend.wait(it)));
    let measure = async {
        sleep(settle).await;
        let (started, begin) = (Instant::now(), statements.get());
        let counted = async {
            counted().await;
            sleep(COUNTED.saturating_sub(started.elapsed())).await;
        };
        counted.await;
        #[allow(clippy::cast_precision_loss, reason = "the number is small")]
        let number = (statements.get() - begin) as f64;
        number / started.elapsed().as_secs_f64()
    };
    tokio::select! {
        ended = waits => panic!("{ended:?}"),
        per_second = measure => (to_queue, per_second),
    }
}

#[tokio::test]
async fn a_thousand_waiters_share_their_statements_on_postgres() {
    let pool = crate::postgres::pool("statements").await;
    let mut many = Vec::new();
    // On a busy machine, notifications may arrive late, and the waiters poll until then.
    for round in 0..10 {
        let key = Key::new("", &format!("statements {round}")).unwrap();
        let per_second = statements_of_notified_waiters(&pool, &key).await;
        // A poll, and a change of two statements, each 5 s, and two statements of this test.
        if per_second < 1.5 {
            return;
        }
        many.push(per_second);
    }
    panic!("too many: {many:?}");
}

/// Returns the number of statements per second of a thousand waiters.
async fn statements_of_notified_waiters(pool: &Pool<Postgres>, key: &Key) -> f64 {
    let settle = Duration::from_secs(2);
    let rows = async || {
        let begin = Instant::now();
        let (before, _) = row(pool, key).await;
        let (mut after, mut kept) = (before, 0.0);
        // A change comes each 5 s, and later on a busy machine.
        while after == before {
            assert!(begin.elapsed() < COUNTED * 10, "no change");
            sleep(COUNTED).await;
            (after, kept) = row(pool, key).await;
        }
        let passed = begin.elapsed();
        let most = 1 + i64::try_from(passed.as_secs()).unwrap() / 5;
        assert!(after - before <= most, "{} in {passed:?}", after - before);
        // All positions were renewed in the meantime. Otherwise the rest of the 15 s would be shorter by a second.
        let rest = 15.0 - settle.as_secs_f64() - passed.as_secs_f64() + 1.0;
        assert!(kept > rest, "{kept} s after {passed:?}");
    };
    let (to_queue, per_second) = count(pool, key, settle, rows).await;
    // Without the shared changes, this takes at least two statements for each waiter.
    assert!(to_queue < 100, "{to_queue}");
    per_second
}

#[tokio::test]
async fn a_thousand_waiters_share_their_polls_on_mariadb() {
    let pool = crate::mariadb::pool().await;
    let mut few = Vec::new();
    // A busy machine may send fewer in some rounds, but not more.
    for round in 0..10 {
        let key = Key::new("", &format!("statements {round}")).unwrap();
        let (to_queue, per_second) =
            count::<MySql>(&pool, &key, Duration::from_secs(1), async || {}).await;
        assert!(to_queue < 100, "{to_queue}");
        // Three polls each second, and a change of two statements each 4 s.
        assert!(per_second < 4.5, "{per_second}");
        if per_second >= 1.0 {
            return;
        }
        few.push(per_second);
    }
    panic!("too few: {few:?}");
}

/// Checks that a waiter that does not call `wait` any longer does not keep its position.
#[tokio::test]
async fn a_dead_waiter_loses_its_position() {
    // A busy machine may be too late in some rounds for the position of the living waiter.
    for _ in 0..10 {
        if dead_waiter_loses_its_position().await {
            return;
        }
    }
    panic!("the living waiter does not keep its position");
}

/// Returns false if the other waiter did not keep its position.
async fn dead_waiter_loses_its_position() -> bool {
    let file = crate::sqlite::LockFile::create().await;
    let backend = SqlBackend::new(file.pool.clone());
    let key = Key::new("", "dead").unwrap();
    take(&backend, &Attempt::new(key.clone(), TTL, false)).await;
    let waiters = [(); 2].map(|()| Attempt::new(key.clone(), TTL, true));
    for waiter in &waiters {
        queue(&backend, waiter).await;
    }
    let waits = timeout(COUNTED, backend.wait(&waiters[1])).await;
    assert!(waits.is_err(), "{waits:?}");
    let left = "SELECT kept_until / 1000000 - unixepoch() FROM leasehold_locks";
    let kept: i64 = query_scalar(left).fetch_one(&file.pool).await.unwrap();
    if kept <= 10 {
        return false;
    }
    backend.cleanup(&waiters[1]).await.unwrap();
    let kept: i64 = query_scalar(left).fetch_one(&file.pool).await.unwrap();
    assert!(kept < 10, "{kept}");
    backend.inspect(&key).await.unwrap().waiting == 1
}
