//! On Postgres, a release notifies the next waiter of another process.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::sql::SqlBackend;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use sqlx::postgres::PgListener;
use sqlx::{PgPool, Postgres, query};
use tokio::time::{Instant, timeout};

use crate::postgres::pool;

const TTL: Duration = Duration::from_secs(30);

/// The time limit of a notification, which is less than the time after which a waiter loses its position.
const SOON: Duration = Duration::from_secs(4);

async fn notify(pool: &PgPool, waiter: &Attempt) {
    let notify = query("SELECT pg_notify('leasehold_locks', $1)::TEXT");
    let notify = notify.bind(waiter.owner.to_string());
    notify.execute(pool).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_of_another_process_is_notified() {
    let pool = pool("notified").await;
    let here = SqlBackend::<Postgres>::new(pool.clone());
    let there = SqlBackend::<Postgres>::new(pool.clone());
    let key = Key::new("", "notified").unwrap();
    let holder = Attempt::new(key.clone(), TTL, false);
    let waiter = Attempt::new(key, TTL, true);
    let answer = here.attempt(&holder).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    let answer = there.attempt(&waiter).await.unwrap();
    assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");

    // The lock is still held, so only a notification ends the wait.
    let (started, mut wait) = (Instant::now(), there.wait(&waiter));
    while timeout(Duration::from_millis(50), &mut wait).await.is_err() {
        notify(&pool, &waiter).await;
    }
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());

    let mut listener = PgListener::connect_with(&pool).await.unwrap();
    listener.listen("leasehold_locks").await.unwrap();
    here.release(&holder.claim(token)).await.unwrap();
    let sent =
        async { while listener.recv().await.unwrap().payload() != waiter.owner.to_string() {} };
    timeout(SOON, sent).await.unwrap();
    let answer = there.attempt(&waiter).await.unwrap();
    assert!(
        matches!(answer, AttemptAnswer::Granted { .. }),
        "{answer:?}"
    );
}
