//! Waiters in other processes: how soon they are granted the lock after a release, and in which order.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt, poll};
use leasehold::backend::sql::{LockDatabase, SqlBackend};
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim, Mode, RenewAnswer};
use leasehold::{AttemptId, Key};
use sqlx::{MySql, Pool, Postgres, Sqlite, query};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

const TTL: Duration = Duration::from_secs(30);

/// The time limit of a notification, and of polls without notifications. Polls with notifications are less frequent: the
/// next one comes later than this.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// The number of rounds in which a busy machine may be late. If a waiter polled less frequently, it would be late in each.
pub(crate) const ROUNDS: usize = 20;

/// The number of dead waiters.
const DEAD: usize = 8;

/// The time within which notifications arrive from the first wait on.
const CONNECTED: Duration = Duration::from_secs(2);

pub(crate) async fn take<DB: LockDatabase>(backend: &SqlBackend<DB>, attempt: &Attempt) -> Claim {
    let answer = backend.attempt(attempt).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    attempt.claim(token)
}

pub(crate) async fn queue<DB: LockDatabase>(backend: &SqlBackend<DB>, attempt: &Attempt) {
    let answer = backend.attempt(attempt).await.unwrap();
    assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
}

/// Waits and attempts until the lock is granted.
pub(crate) async fn queue_for<DB: LockDatabase>(
    backend: &SqlBackend<DB>,
    attempt: &Attempt,
) -> Claim {
    loop {
        match backend.attempt(attempt).await.unwrap() {
            AttemptAnswer::Granted { token, .. } => return attempt.claim(token),
            AttemptAnswer::Busy { retry_after } => {
                let _hint = timeout(retry_after, backend.wait(attempt)).await;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A holder, and a waiter in another process.
pub(crate) struct Pair<DB: LockDatabase> {
    here: SqlBackend<DB>,
    there: SqlBackend<DB>,
    held: Claim,
    waiter: Attempt,
}

impl<DB: LockDatabase> Pair<DB> {
    pub(crate) async fn queue(pool: &Pool<DB>, name: &str) -> Self {
        let (here, there) = (SqlBackend::new(pool.clone()), SqlBackend::new(pool.clone()));
        let key = Key::new("", name).unwrap();
        let held = take(&here, &Attempt::new(key.clone(), TTL, false)).await;
        let waiter = Attempt::new(key, TTL, true);
        queue(&there, &waiter).await;
        Self {
            here,
            there,
            held,
            waiter,
        }
    }

    /// Waits for the lock in a task.
    pub(crate) fn wait(&self) -> JoinHandle<()> {
        let (there, waiter) = (self.there.clone(), self.waiter.clone());
        tokio::spawn(async move { there.wait(&waiter).await.unwrap() })
    }

    pub(crate) async fn release(&self) {
        self.here.release(&self.held).await.unwrap();
    }
}

/// Checks that a release soon ends the wait of another process, also after a long wait: three times.
async fn a_release_soon_ends_a_wait<DB: LockDatabase>(pool: &Pool<DB>) {
    let (mut swift, mut late) = (0, Vec::new());
    for round in 0..ROUNDS {
        let pair = Pair::queue(pool, &format!("soon:{round}")).await;
        let waiting = pair.wait();
        sleep(CONNECTED).await;
        let released = Instant::now();
        pair.release().await;
        waiting.await.unwrap();
        match released.elapsed() {
            waited if waited < SOON => swift += 1,
            waited => late.push(waited),
        }
        if swift == 3 {
            return;
        }
    }
    panic!("{swift} times soon, and late: {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_notifies_a_waiter_on_postgres() {
    a_release_soon_ends_a_wait::<Postgres>(&crate::postgres::pool("soon").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_polls_for_a_release_on_mariadb() {
    a_release_soon_ends_a_wait::<MySql>(&crate::mariadb::pool().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_polls_for_a_release_on_sqlite() {
    let file = crate::sqlite::LockFile::create().await;
    a_release_soon_ends_a_wait::<Sqlite>(&file.pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_polls_after_its_listener_lost_the_connection() {
    const LISTENERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = $1 AND query LIKE 'LISTEN%'";
    let mut late = Vec::new();
    for round in 0..ROUNDS {
        let name = format!("listener {round}");
        let pool = crate::postgres::pool(&name).await;
        let pair = Pair::<Postgres>::queue(&pool, &name).await;
        let waiting = pair.wait();
        sleep(CONNECTED).await;
        let mut ended = 0;
        // A busy machine may connect later.
        while ended == 0 && !waiting.is_finished() {
            ended = query(LISTENERS)
                .bind(&name)
                .fetch_all(&pool)
                .await
                .unwrap()
                .len();
            sleep(Duration::from_millis(20)).await;
        }
        let released = Instant::now();
        pair.release().await;
        waiting.await.unwrap();
        let waited = released.elapsed();
        if ended == 1 && waited < SOON {
            return;
        }
        late.push((ended, waited));
    }
    panic!("late in each round: {late:?}");
}

/// Adds waiters of a process that then crashes.
async fn queue_dead<DB: LockDatabase>(died: &SqlBackend<DB>, key: &Key) {
    for _ in 0..DEAD {
        let dead = Attempt::new(key.clone(), TTL, true);
        queue(died, &dead).await;
    }
}

/// Checks that dead waiters together delay the waiters after them by one grant, in whichever process those wait. The dead
/// ones were in a process of their own, and then in that of the previous holder.
async fn many_dead_waiters_cost_one_grant<DB: LockDatabase>(pool: &Pool<DB>) {
    let [holder, died] = [(); 2].map(|()| SqlBackend::new(pool.clone()));
    dead_waiters_cost_one_grant(pool, &holder, &died).await;
    dead_waiters_cost_one_grant(pool, &holder, &holder).await;
}

async fn dead_waiters_cost_one_grant<DB: LockDatabase>(
    pool: &Pool<DB>,
    holder: &SqlBackend<DB>,
    died: &SqlBackend<DB>,
) {
    let [one, other] = [(); 2].map(|()| SqlBackend::new(pool.clone()));
    let mut late = Vec::new();
    for round in 0..ROUNDS {
        let key = format!("dead {round} {}", AttemptId::random());
        let key = Key::new("", &key).unwrap();
        let held = take(holder, &Attempt::new(key.clone(), TTL, false)).await;
        queue_dead(died, &key).await;
        let mut waiting = JoinSet::new();
        for backend in [&one, &other] {
            let (backend, living) = (backend.clone(), Attempt::new(key.clone(), TTL, true));
            queue(&backend, &living).await;
            waiting.spawn(async move {
                let claim = queue_for(&backend, &living).await;
                (backend, claim)
            });
        }
        sleep(CONNECTED).await;
        let released = Instant::now();
        holder.release(&held).await.unwrap();
        let (backend, claim) = waiting.join_next().await.unwrap().unwrap();
        let first = released.elapsed();
        assert!(first >= Duration::from_secs(1), "{first:?}");
        // The dead waiters lose their positions, and the other process keeps its own.
        while backend.inspect(&key).await.unwrap().waiting != 1 {
            sleep(Duration::from_millis(20)).await;
        }
        let released = Instant::now();
        backend.release(&claim).await.unwrap();
        let (backend, claim) = waiting.join_next().await.unwrap().unwrap();
        let second = released.elapsed();
        backend.release(&claim).await.unwrap();
        if first < Duration::from_secs(3) && second < SOON {
            return;
        }
        late.push((first, second));
    }
    panic!("late in each round: {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dead_waiters_cost_one_grant_on_postgres() {
    many_dead_waiters_cost_one_grant::<Postgres>(&crate::postgres::pool("dead").await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dead_waiters_cost_one_grant_on_mariadb() {
    many_dead_waiters_cost_one_grant::<MySql>(&crate::mariadb::pool().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dead_waiters_cost_one_grant_on_sqlite() {
    let file = crate::sqlite::LockFile::create().await;
    many_dead_waiters_cost_one_grant::<Sqlite>(&file.pool).await;
}

/// Checks that a waiter acquires the lock soon after the lease of a dead holder, whatever the number of dead waiters.
async fn dead_waiters_of_a_dead_holder_cost_a_short_grant<DB: LockDatabase>(
    died: &SqlBackend<DB>,
    backend: &SqlBackend<DB>,
) {
    const LEASE: Duration = Duration::from_secs(1);
    let mut late = Vec::new();
    for round in 0..ROUNDS {
        let key = Key::new("", &format!("both dead {round}")).unwrap();
        let held = take(died, &Attempt::new(key.clone(), TTL, false)).await;
        queue_dead(died, &key).await;
        let mut last = held.clone();
        last.ttl = LEASE;
        let begin = Instant::now();
        let renewed = died.renew(&[last]).await.remove(0).unwrap();
        assert!(
            matches!(renewed, RenewAnswer::Extended { .. }),
            "{renewed:?}"
        );
        queue_for(backend, &Attempt::new(key, TTL, true)).await;
        let waited = begin.elapsed();
        assert!(waited >= LEASE, "{waited:?}");
        // A grant of one second, and a poll after the lease and after the grant.
        if waited < LEASE + Duration::from_secs(2) {
            return;
        }
        late.push(waited);
    }
    panic!("late in each round: {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_waiters_of_a_dead_holder_cost_a_short_grant_on_sqlite() {
    let file = crate::sqlite::LockFile::create().await;
    let backends = [(); 2].map(|()| SqlBackend::<Sqlite>::new(file.pool.clone()));
    dead_waiters_of_a_dead_holder_cost_a_short_grant(&backends[0], &backends[1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_waiters_of_a_dead_holder_cost_a_short_grant_on_mariadb() {
    let pool = crate::mariadb::pool().await;
    let backends = [(); 2].map(|()| SqlBackend::<MySql>::new(pool.clone()));
    dead_waiters_of_a_dead_holder_cost_a_short_grant(&backends[0], &backends[1]).await;
}

/// Checks the same while notifications arrive, because waiters then poll only every 5 s if they know of no lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_waiters_of_a_dead_holder_cost_a_short_grant_on_postgres() {
    let pool = crate::postgres::pool("both dead").await;
    let pair = Pair::<Postgres>::queue(&pool, "listening").await;
    let listening = pair.wait();
    sleep(CONNECTED).await;
    dead_waiters_of_a_dead_holder_cost_a_short_grant(&pair.here, &pair.there).await;
    listening.abort();
}

/// Checks the order of many waiters of two processes.
async fn acquires_are_served_in_the_order_of_their_calls<DB: LockDatabase>(pool: &Pool<DB>) {
    let key = Key::new("", "in order").unwrap();
    let backends = [SqlBackend::new(pool.clone()), SqlBackend::new(pool.clone())];
    let held = take(&backends[0], &Attempt::new(key.clone(), TTL, false)).await;
    let mut waiters = Vec::new();
    for index in 0..60 {
        let (backend, waiter) = (
            backends[index % 2].clone(),
            Attempt::new(key.clone(), TTL, true),
        );
        queue(&backend, &waiter).await;
        waiters.push(tokio::spawn(async move {
            let claim = queue_for(&backend, &waiter).await;
            backend.release(&claim).await.unwrap();
            claim.token
        }));
    }
    backends[0].release(&held).await.unwrap();
    let mut tokens = vec![held.token];
    for waiter in waiters {
        tokens.push(waiter.await.unwrap());
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_served_in_order_on_postgres() {
    acquires_are_served_in_the_order_of_their_calls::<Postgres>(
        &crate::postgres::pool("order").await,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_served_in_order_on_mariadb() {
    acquires_are_served_in_the_order_of_their_calls::<MySql>(&crate::mariadb::pool().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_served_in_order_on_sqlite() {
    let file = crate::sqlite::LockFile::create().await;
    acquires_are_served_in_the_order_of_their_calls::<Sqlite>(&file.pool).await;
}

/// Checks that a future that is not polled any longer does not block the other tasks of its process.
#[tokio::test]
async fn a_stopped_task_does_not_block_other_tasks() {
    let file = crate::sqlite::LockFile::create().await;
    let backend = SqlBackend::<Sqlite>::new(file.pool.clone());
    let key = Key::new("", "stopped").unwrap();
    let readers = [(); 3].map(|()| Attempt::new(key.clone(), TTL, true).in_mode(Mode::Shared));
    // The first task has its turn, and the second task waits for its turn.
    let (mut first, mut second) = (backend.attempt(&readers[0]), backend.attempt(&readers[1]));
    assert!(poll!(&mut first).is_pending());
    assert!(poll!(&mut second).is_pending());
    let third = timeout(Duration::from_secs(5), backend.attempt(&readers[2])).await;
    assert!(
        matches!(third, Ok(Ok(AttemptAnswer::Granted { .. }))),
        "{third:?}"
    );
    assert!(second.now_or_never().is_some());
    let seen = backend.inspect(&key).await.unwrap();
    assert!(seen.holders >= 2, "{seen:?}");
}

/// Checks that a task repeats its attempt if the task that wrote it was dropped.
#[tokio::test]
async fn a_dropped_task_does_not_block_other_tasks() {
    let file = crate::sqlite::LockFile::create().await;
    let backend = SqlBackend::<Sqlite>::new(file.pool.clone());
    let key = Key::new("", "dropped").unwrap();
    let readers = [(); 3].map(|()| Attempt::new(key.clone(), TTL, true).in_mode(Mode::Shared));
    let (mut first, mut second) = (backend.attempt(&readers[0]), backend.attempt(&readers[1]));
    assert!(poll!(&mut first).is_pending());
    assert!(poll!(&mut second).is_pending());
    // The first task counts as stopped, so the third task writes the attempts of the second task and its own.
    sleep(Duration::from_millis(300)).await;
    let mut third = backend.attempt(&readers[2]);
    assert!(poll!(&mut third).is_pending());
    drop(third);
    let second = timeout(Duration::from_secs(5), second).await;
    assert!(
        matches!(second, Ok(Ok(AttemptAnswer::Granted { .. }))),
        "{second:?}"
    );
}

/// Checks that all readers behind a writer confirm their grants before these expire.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_readers_are_granted_together() {
    let pool = crate::mariadb::pool().await;
    let backend = SqlBackend::<MySql>::new(pool);
    // On a busy machine, some readers may be too late in some rounds.
    for round in 0..ROUNDS {
        let key = Key::new("", &format!("readers {round}")).unwrap();
        let writer = take(&backend, &Attempt::new(key.clone(), TTL, false)).await;
        let reader = || Attempt::new(key.clone(), TTL, true).in_mode(Mode::Shared);
        let readers: Vec<Attempt> = (0..500).map(|_| reader()).collect();
        join_all(readers.iter().map(|it| queue(&backend, it))).await;
        let behind = Attempt::new(key.clone(), TTL, true);
        queue(&backend, &behind).await;
        let granted = join_all(readers.iter().map(|it| queue_for(&backend, it)));
        let release = async {
            sleep(Duration::from_millis(100)).await;
            backend.release(&writer).await.unwrap();
        };
        // A reader that had lost its grant would wait behind the writer.
        let granted = timeout(Duration::from_secs(10), async {
            tokio::join!(granted, release)
        });
        if let Ok((granted, ())) = granted.await {
            assert_eq!(granted.len(), readers.len());
            assert_eq!(backend.inspect(&key).await.unwrap().holders, 500);
            return;
        }
    }
    panic!("some readers lose their grants in each round");
}
