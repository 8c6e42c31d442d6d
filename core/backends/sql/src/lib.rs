//! The locks of Leasehold as rows of a table in Postgres, `MySQL`, `MariaDB` or `SQLite`.
//!
//! Programs use the crate `leasehold`, with its features `postgres`, `mysql` and `sqlite`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "only the statements of a database use it")
)]

mod attempt_in_process;
pub mod catalog;
mod clock_micros;
mod connect;
mod connection;
mod database;
mod database_clock;
pub mod ddl;
mod error;
mod examine_settings;
mod local_keys;
mod local_waiters;
mod lock_row;
mod notification_listener;
mod old_row_sweeper;
mod own_pool;
mod poll_schedule;
mod pool_timeout_cause;
mod pooled_connection;
mod read_only;
mod row_operations;
mod shared_row_changes;
mod table_definitions;
mod unanswered_statements;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod url_backend;
mod wait_for_turn;

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use leasehold_core::Key;
use leasehold_core::backend::key_state::KeyState;
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, HandoverSecret, Inspection,
    ListCursor, ListPage, Mode, Outcome, ReleaseAnswer, RenewAnswer,
};
use leasehold_core::check::Finding;
use sqlx::Pool;

use self::attempt_in_process::SqlAttempt;
pub use self::database::LockDatabase;
use self::database_clock::DatabaseClock;
pub use self::error::is_missing_table;
use self::local_keys::LocalKeys;
use self::local_waiters::Waiters;
use self::lock_row::Taken;
use self::notification_listener::Listener;
use self::old_row_sweeper::Sweeper;
use self::pool_timeout_cause::ServerCheck;
pub use self::read_only::{READ_ONLY, is_read_only};
use self::shared_row_changes::Reason;
pub use sqlx;

/// Locks in the table `leasehold_locks` of a database.
///
/// Create the table with [`ddl::create_locks`], or in your migrations. The database's clock
/// decides when a lease ends. Locks are rows, not sessions. So they survive a lost connection, and they work through a
/// connection pooler in transaction mode.
///
/// One statement acquires a free lock (the first acquire of a backend needs two), and another statement releases a lock
/// without waiters. Any other operation reads the row, and writes the row if no other client has changed it. Tasks of one
/// process that change the same key concurrently share these two statements.
///
/// # Waiters
///
/// Waiters are served first come, first served. A waiter in the process of the previous holder is notified. On Postgres,
/// waiters in other processes are notified through `LISTEN` and `NOTIFY`. The backend uses one connection of the pool to
/// listen, from the first wait on, if the pool may have at least three connections. Every 30 s, it sends itself a
/// notification through another connection to find out whether notifications arrive. If none arrives within a few
/// seconds, the waiters poll, and the backend listens again after 10 minutes.
///
/// The waiters of a key in one process share their statements, whatever the number of waiters is:
///
/// - One waiter polls the row for all. The first poll is after 20 ms. While notifications arrive, the next polls are
///   every 5 s and when the lease ends. Otherwise the pauses double up to 320 ms. They are short again when the holder
///   changes.
/// - One waiter renews the positions of all about every 5 s, with two statements.
///
/// The positions of a process that crashes expire after 15 s. A waiter that does not confirm a grant loses it after 2 s,
/// or after 1 s if the previous holder's lease had expired. The first process that polls then serves its own waiters,
/// in their order, and the other positions expire after 2 s unless their processes renew them. So the next waiter usually
/// waits for one grant, whatever the number of crashed waiters is. If a new attempt finds the expired grant first, the next
/// waiter in the queue gets a grant, even if it has crashed. On Postgres, the release announces the grant, with a hash of
/// the key, so that the processes poll when it ends.
///
/// # Load and size
///
/// With a thousand waiters of one key in one process, the process sends less than two statements per second on Postgres,
/// and less than five elsewhere. The renewals of all exclusive locks of a manager that are due together are one
/// statement on Postgres. On `SQLite` one statement renews up to a thousand locks, and on `MySQL` and `MariaDB` two
/// statements do.
///
/// A row stays in the table for an hour after its last use. A million rows with keys of 38 bytes have 333 MB on Postgres
/// (260 MB of rows, 73 MB of index), 128 MB on `MariaDB`, and 72 MB on `SQLite`. On Postgres, half of each page stays
/// free, so that acquires and releases do not change the index (HOT updates), and reuse the space of earlier versions.
/// Autovacuum needs no settings.
///
/// A backend that releases locks checks a thousand rows every 10 s, and deletes the old ones. While at least a tenth of
/// them are old, it continues after a pause of 100 ms, or of nine times the duration of the last deletion if that is
/// longer. So it deletes at most 10 000 rows a second, and a million old rows in a few minutes, with at most a tenth of
/// one connection. The guarantees do not cover a statement that is stopped for more than an hour before it writes, such
/// as that of a stopped process on `SQLite`. It may still acquire the lock, although its attempt has ended.
///
/// # Connection poolers
///
/// The backend works through a pooler in transaction mode, such as `PgBouncer`, without prepared statements, because the
/// pooler may execute a statement on another connection than the one that prepared it. [`connect`](Self::connect) finds
/// such a pooler, and switches prepared statements off unless the URL has `statement-cache-capacity`. Switch them off for
/// a pool of your own, with
/// [`statement_cache_capacity(0)`](sqlx::postgres::PgConnectOptions::statement_cache_capacity). Each operation is then one simple query. The server plans each of them,
/// which costs 0.2 ms for an acquire. The values are in the text of the statement, which sqlx logs at the level `debug`,
/// and as a warning if the statement is slow. `PgBouncer` 1.21 and later supports prepared statements with its setting
/// `max_prepared_statements`. The driver itself needs `ignore_startup_parameters = extra_float_digits` in the settings of
/// `PgBouncer`. Notifications do not arrive through the pooler, so the waiters poll.
///
/// # By URL
///
/// [`connect`](Self::connect) opens a pool for a URL, as
/// [`LockManager::connect`](leasehold_core::LockManager::connect) does.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold_core::LockManager;
/// use leasehold::backend::sql::{SqlBackend, ddl};
///
/// let pool = sqlx::PgPool::connect("postgres://localhost/shop").await?;
/// ddl::create_locks(&pool).await?;
/// let locks = LockManager::new(SqlBackend::new(pool));
/// let guard = locks.lock("order:42").acquire().await?;
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Restarts, failovers and clocks
///
/// A lock survives a restart of the database. A lock also survives a failover of Postgres if each commit waits for the
/// replica (`synchronous_standby_names`). With an asynchronous replica, a failover loses the last grants, so two clients
/// may hold one lock for the rest of a lease. A jump of the database's clock forward ends leases early, and has the same
/// effect. A jump back extends the leases of that moment. In all of these cases tokens increase, so a fence refuses the
/// writes of the older holder. After a failover, this requires that the clocks of both servers differ by less than the
/// failover takes.
pub struct SqlBackend<DB: LockDatabase> {
    pool: Pool<DB>,
    /// Whether only this backend and its clones use the pool.
    owns_pool: bool,
    /// Whether the connections of the pool keep prepared statements.
    prepare: bool,
    server_check: Arc<ServerCheck>,
    clock: Arc<DatabaseClock>,
    local: Arc<LocalKeys>,
    waiters: Arc<Waiters>,
    listener: Arc<Listener>,
    sweeper: Arc<Sweeper>,
}

impl<DB: LockDatabase> SqlBackend<DB> {
    /// Creates a backend in the database of this pool.
    ///
    /// Each operation needs a connection of the pool for one or two statements. A pool that other code uses up delays
    /// renewals, so give the backend its own pool if the application holds connections for long. On `SQLite`, set the
    /// journal mode `WAL` and a busy timeout below the manager's command timeout, as [`connect`](Self::connect) does. A
    /// shutdown of the manager does not close the pool.
    ///
    /// By default, a pool of sqlx tests a connection before each use, so each operation needs one more round trip. For
    /// faster operations, test only idle connections, as the example of
    /// [`PoolOptions::before_acquire`](sqlx::pool::PoolOptions::before_acquire) does.
    #[must_use]
    pub fn new(pool: Pool<DB>) -> Self {
        Self::with(pool, false)
    }

    fn with(pool: Pool<DB>, owns_pool: bool) -> Self {
        let prepare = DB::prepares(&pool);
        Self {
            pool,
            owns_pool,
            prepare,
            server_check: Arc::default(),
            clock: Arc::default(),
            local: Arc::default(),
            waiters: Arc::default(),
            listener: Arc::default(),
            sweeper: Arc::default(),
        }
    }
}

/// The features of this backend on each database.
const CAPABILITIES: Capabilities = Capabilities::all(Duration::from_millis(50));

#[async_trait]
impl<DB: LockDatabase> Backend for SqlBackend<DB> {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        // Register the waiter first, because a notification may arrive before the reply.
        let kept = SqlAttempt::of(attempt);
        let waits = attempt.queue && !kept.begin_to_wait(attempt.owner, &self.waiters);
        let plain = attempt.mode == Mode::Exclusive && attempt.handover.is_none();
        // If another task of this process waits or writes, the lock is probably not free.
        let may_be_free = plain && !waits && !self.local.is_used(&attempt.key);
        let _used = self.local.enter(&attempt.key);
        let read = match self.clock.expiry().filter(|_| may_be_free) {
            None => None,
            Some(expiry) => match self.take(attempt, expiry).await? {
                Taken::Token(token) => {
                    kept.stop_waiting();
                    return Ok(AttemptAnswer::Granted {
                        token,
                        lease: attempt.ttl,
                    });
                }
                Taken::Busy(reading) => Some(reading),
            },
        };
        let reason = Reason::Attempt(Arc::clone(&kept.statements), read);
        let wanted = attempt.clone();
        let changed = self.change(&attempt.key, reason, move |key, tokens, step| {
            key.attempt(&wanted, tokens, step)
        });
        let answer = changed.await?;
        if matches!(answer, AttemptAnswer::Granted { .. }) {
            kept.stop_waiting();
        }
        Ok(answer)
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.wait_for_change(attempt).await
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let renewed = match self.renew_exclusive(claims).await {
            Ok(renewed) => renewed,
            // The manager retries the other claims.
            Err(error) => return vec![Err(error)],
        };
        // Concurrent renewals of a key are one change of its row.
        join_all(claims.iter().map(|claim| {
            let is_renewed = renewed.contains(&claim.owner);
            async move {
                if is_renewed {
                    return Ok(RenewAnswer::Extended { lease: claim.ttl });
                }
                let claim = claim.clone();
                self.change(&claim.key.clone(), Reason::Other, move |key, _, step| {
                    Ok(key.renew(&claim, step))
                })
                .await
            }
        }))
        .await
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.end(claim, KeyState::downgrade).await
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        self.end(claim, move |key, claim, step| {
            key.hand_over(claim, secret, step)
        })
        .await
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        self.sweeper.sweep_if_due(&self.pool);
        let kept = SqlAttempt::of_claim(claim);
        kept.stop_waiting();
        // If another task of this process waits, the release must grant the lock to the next waiter.
        let alone = claim.mode == Mode::Exclusive && !self.local.is_used(&claim.key);
        let all_answered = kept.statements.latest_expiry() == 0;
        if alone && all_answered && self.release_alone(claim).await? {
            return Ok(ReleaseAnswer::Released);
        }
        self.end(claim, KeyState::release).await
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        let outcome = outcome.clone();
        self.end(claim, move |key, claim, step| {
            key.record(claim, &outcome, keep, step)
        })
        .await
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        self.change(key, Reason::Other, |key, _, step| Ok(key.forget(step)))
            .await
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.end(claim, KeyState::release_after).await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let (owner, kept) = (attempt.owner, SqlAttempt::of(attempt));
        kept.stop_waiting();
        let reason = Reason::End(Arc::clone(&kept.statements));
        self.change(&attempt.key, reason, move |key, _, step| {
            key.cleanup(owner, step);
            Ok(())
        })
        .await
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        let reading = self.read(key).await?;
        Self::inspected(key, &reading)
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        self.change(key, Reason::Other, |key, _, step| {
            Ok(key.force_release(step))
        })
        .await
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        let id = id.to_owned();
        self.change(key, Reason::Other, move |key, _, step| {
            Ok(key.force_release_holder(&id, step))
        })
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

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        let mut connection = self.server_check.acquire(&self.pool).await?;
        let examined = connection.run(|on| DB::examine(on)).await;
        examined.map_err(|refused| error::of(refused, DB::LOCKS.name))
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
            prepare: self.prepare,
            server_check: Arc::clone(&self.server_check),
            clock: Arc::clone(&self.clock),
            local: Arc::clone(&self.local),
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
