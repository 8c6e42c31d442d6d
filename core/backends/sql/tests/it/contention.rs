//! Clients that compete for one lock, through pools of several kinds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use leasehold::backend::sql::{LockDatabase, SqlBackend};
use leasehold::backend::{Attempt, AttemptAnswer, Backend, RenewAnswer};
use leasehold::{Error, Key, LockManager};
use sqlx::Pool;
use tokio::task::JoinSet;
use tokio::time::sleep;

const TTL: Duration = Duration::from_secs(30);
const TASKS: u32 = 8;
const TURNS: u32 = 5;

/// Tasks of two managers acquire one lock in turn.
pub(crate) async fn all_get_their_turns<DB: LockDatabase>(pool: Pool<DB>, name: &str) {
    take_turns(pool, name, |released| released.unwrap()).await;
}

/// The same, through connections that lose replies. A release may then be unconfirmed, and continues in the background.
pub(crate) async fn all_get_their_turns_without_some_replies<DB: LockDatabase>(
    pool: Pool<DB>,
    name: &str,
) {
    take_turns(pool, name, |released| match released {
        Ok(()) | Err(Error::Unconfirmed(_)) => {}
        Err(error) => panic!("{error}"),
    })
    .await;
}

async fn take_turns<DB: LockDatabase>(pool: Pool<DB>, name: &str, check: fn(Result<(), Error>)) {
    let managers = [(); 2].map(|()| LockManager::new(SqlBackend::new(pool.clone())));
    let (held, turns) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let locks = managers[task as usize % 2].clone();
        let (key, held) = (name.to_owned(), Arc::clone(&held));
        let turns: Arc<AtomicU32> = Arc::clone(&turns);
        tasks.spawn(async move {
            for _ in 0..TURNS {
                let guard = locks.lock(&key).wait(TTL * 10).acquire().await.unwrap();
                assert!(!held.swap(true, Ordering::SeqCst), "two holders");
                turns.fetch_add(1, Ordering::SeqCst);
                sleep(Duration::from_millis(2)).await;
                held.store(false, Ordering::SeqCst);
                check(guard.release().await);
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert_eq!(turns.load(Ordering::SeqCst), TASKS * TURNS);
}

/// Tasks of two backends repeat their attempts, renew and release. No operation fails, although a manager would repeat
/// it.
pub(crate) async fn no_operation_fails<DB: LockDatabase>(pool: Pool<DB>, name: &str) {
    let backends = [(); 2].map(|()| SqlBackend::new(pool.clone()));
    let held = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (backend, held) = (backends[task as usize % 2].clone(), Arc::clone(&held));
        let key = Key::new("", name).unwrap();
        tasks.spawn(async move {
            for turn in 0..TURNS {
                // Every second attempt has a position in the queue.
                let attempt = Attempt::new(key.clone(), TTL, (task + turn).is_multiple_of(2));
                let token = loop {
                    match backend.attempt(&attempt).await.unwrap() {
                        AttemptAnswer::Granted { token, .. } => break token,
                        AttemptAnswer::Busy { .. } => sleep(Duration::from_millis(1)).await,
                        other => panic!("{other:?}"),
                    }
                };
                assert!(!held.swap(true, Ordering::SeqCst), "two holders");
                let claim = attempt.claim(token);
                let renewed = backend.renew(std::slice::from_ref(&claim)).await;
                let renewed = renewed.into_iter().next().unwrap().unwrap();
                assert!(
                    matches!(renewed, RenewAnswer::Extended { .. }),
                    "{renewed:?}"
                );
                held.store(false, Ordering::SeqCst);
                backend.release(&claim).await.unwrap();
                backend.cleanup(&attempt).await.unwrap();
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    let key = Key::new("", name).unwrap();
    let seen = backends[0].inspect(&key).await.unwrap();
    assert!(seen.is_free(), "{seen:?}");
}
