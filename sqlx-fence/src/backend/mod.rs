//! Locks as rows of a table.

mod database;
mod error;
mod listener;
mod operations;
mod pool;
mod record;
mod requests;
mod sweeper;
mod times;
mod waiters;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold::Key;
use leasehold::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, HandoverSecret, Inspection,
    ListCursor, ListPage, Mode, Outcome, ReleaseAnswer, RenewAnswer,
};
use sqlx::Pool;
use tokio::time::sleep;

pub use self::database::LockDatabase;
use self::listener::Listener;
use self::record::Taken;
use self::requests::Requests;
use self::sweeper::Sweeper;
use self::waiters::Waiters;
use crate::Error;

/// The first and the longest pause between two checks of a waiter.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

/// Locks in the table `leasehold_locks` of a database.
///
/// Create the table with [`ddl::create_locks`](crate::ddl::create_locks), or in your migrations. The database's clock
/// decides when a lease ends. Locks are rows, not sessions. So they survive a lost connection, and they work through a
/// connection pooler in transaction mode.
///
/// One statement acquires a free lock, and another statement releases a lock without waiters. Any other operation reads
/// the row, and writes the row if no other client has changed it. Waiters are served first come, first served. A waiter
/// in the process of the previous holder is notified. On Postgres, waiters in other processes are notified through
/// `LISTEN` and `NOTIFY`. The backend uses one connection of the pool to listen, from the first wait on, if the pool may
/// have at least three connections. Without a notification, a waiter checks the row up to 50 times a second at first,
/// and three times a second after a second.
///
/// A row stays in the table for an hour after its last use. Every backend that releases locks checks a thousand rows
/// each ten seconds, and deletes the old ones.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
/// use leasehold_sqlx::{SqlBackend, ddl};
///
/// let pool = sqlx::PgPool::connect("postgres://localhost/shop").await?;
/// ddl::create_locks(&pool).await?;
/// let locks = LockManager::new(SqlBackend::new(pool));
/// let guard = locks.lock("order:42").acquire().await?;
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
pub struct SqlBackend<DB: LockDatabase> {
    pool: Pool<DB>,
    /// Whether only this backend and its clones use the pool.
    owns_pool: bool,
    requests: Arc<Requests>,
    waiters: Arc<Waiters>,
    listener: Arc<Listener>,
    sweeper: Arc<Sweeper>,
}

impl<DB: LockDatabase> SqlBackend<DB> {
    /// Creates a backend in the database of this pool.
    ///
    /// Each operation needs a connection of the pool for one or two statements. A pool that other code uses up delays
    /// renewals, so give the backend its own pool if the application holds connections for long. A shutdown of the
    /// manager does not close the pool.
    ///
    /// By default, a pool of sqlx tests a connection before each use, so each operation needs one more round trip. For
    /// faster operations, test only idle connections, as the example of
    /// [`PoolOptions::before_acquire`](sqlx::pool::PoolOptions::before_acquire) does.
    #[must_use]
    pub fn new(pool: Pool<DB>) -> Self {
        Self::with(pool, false)
    }

    /// Connects to the database at `url` with a pool for this backend, and creates the table if it does not exist. The
    /// pool tests a connection before its use only after a second without use.
    /// [`LockManager::shutdown`](leasehold::LockManager::shutdown) closes the pool.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Sqlx`] if the URL is invalid, the connection fails, or the role may not create the table.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let pool = pool::options().connect(url).await?;
        let mut connection = pool.acquire().await?;
        DB::create(&mut connection, DB::LOCKS).await?;
        drop(connection);
        Ok(Self::with(pool, true))
    }

    fn with(pool: Pool<DB>, owns_pool: bool) -> Self {
        Self {
            pool,
            owns_pool,
            requests: Arc::default(),
            waiters: Arc::default(),
            listener: Arc::default(),
            sweeper: Arc::default(),
        }
    }
}

#[async_trait]
impl<DB: LockDatabase> Backend for SqlBackend<DB> {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Duration::from_millis(50))
            .with_fifo(true)
            .with_shared(true)
            .with_permits(true)
            .with_handover(true)
            .with_once(true)
            .with_hold_at_least(true)
            .with_list(true)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        // Register the waiter first, because a notification may arrive before the reply.
        if attempt.queue {
            self.waiters.register(attempt.owner);
        }
        let plain = attempt.mode == Mode::Exclusive && attempt.handover.is_none();
        let read = match self.requests.expiry().filter(|_| plain) {
            None => None,
            Some(expiry) => match self.take(attempt, expiry).await? {
                Taken::Token(token) => {
                    return Ok(AttemptAnswer::Granted {
                        token,
                        lease: attempt.ttl,
                    });
                }
                Taken::Busy(reading) => Some(reading),
            },
        };
        self.attempt_in_steps(attempt, read).await
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let Some(notified) = self.waiters.find(&attempt.owner.to_string()) else {
            return Ok(());
        };
        self.listener.start(&self.pool, &self.waiters);
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::select! {
                () = notified.notified() => return Ok(()),
                () = sleep(pause) => {}
            }
            if !self.still_waits(attempt).await? {
                return Ok(());
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let renewed = match self.renew_exclusive(claims).await {
            Ok(renewed) => renewed,
            // The manager retries the other claims.
            Err(error) => return vec![Err(error)],
        };
        let mut answers = Vec::with_capacity(claims.len());
        for claim in claims {
            if renewed.contains(&claim.owner) {
                answers.push(Ok(RenewAnswer::Extended { lease: claim.ttl }));
            } else {
                let renew = self.change(&claim.key, 0, |key, _, step| Ok(key.renew(claim, step)));
                answers.push(renew.await);
            }
        }
        answers
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let copies = self.requests.latest_expiry(claim.owner);
        self.change(&claim.key, copies, |key, _, step| {
            Ok(key.downgrade(claim, step))
        })
        .await
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        let copies = self.requests.latest_expiry(claim.owner);
        self.change(&claim.key, copies, |key, _, step| {
            Ok(key.hand_over(claim, secret, step))
        })
        .await
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        self.sweeper.sweep_if_due(&self.pool);
        self.waiters.remove(claim.owner);
        let copies = self.requests.latest_expiry(claim.owner);
        if copies == 0 && claim.mode == Mode::Exclusive && self.release_alone(claim).await? {
            return Ok(ReleaseAnswer::Released);
        }
        self.change(&claim.key, copies, |key, _, step| {
            Ok(key.release(claim, step))
        })
        .await
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        let copies = self.requests.latest_expiry(claim.owner);
        self.change(&claim.key, copies, |key, _, step| {
            Ok(key.record(claim, outcome, keep, step))
        })
        .await
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        self.change(key, 0, |key, _, step| Ok(key.forget(step)))
            .await
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let copies = self.requests.latest_expiry(claim.owner);
        self.change(&claim.key, copies, |key, _, step| {
            Ok(key.release_after(claim, step))
        })
        .await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.waiters.remove(attempt.owner);
        let copies = self.requests.latest_expiry(attempt.owner);
        self.change(&attempt.key, copies, |key, _, step| {
            key.cleanup(attempt.owner, step);
            Ok(())
        })
        .await
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        let reading = self.read(key).await?;
        Self::inspected(key, &reading)
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        self.change(key, 0, |key, _, step| Ok(key.force_release(step)))
            .await
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        self.change(
            key,
            0,
            |key, _, step| Ok(key.force_release_holder(id, step)),
        )
        .await
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let from = cursor.and_then(ListCursor::position::<String>);
        self.page(prefix, from.map(String::as_str)).await
    }

    async fn interrupted(&self, _seen: u64) -> u64 {
        pending().await
    }

    async fn close(&self) {
        if self.owns_pool {
            self.pool.close().await;
        }
    }
}

impl<DB: LockDatabase> Clone for SqlBackend<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            owns_pool: self.owns_pool,
            requests: Arc::clone(&self.requests),
            waiters: Arc::clone(&self.waiters),
            listener: Arc::clone(&self.listener),
            sweeper: Arc::clone(&self.sweeper),
        }
    }
}

impl<DB: LockDatabase> fmt::Debug for SqlBackend<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlBackend").finish_non_exhaustive()
    }
}
