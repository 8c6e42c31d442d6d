//! Distributed locks with leases, automatic renewal and fencing tokens.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), leasehold::Error> {
//! use std::time::Duration;
//! use leasehold::LockManager;
//!
//! let locks = LockManager::in_process(); // or LockManager::connect("redis://127.0.0.1").await?
//! let guard = locks
//!     .lock("order:42")
//!     .ttl(Duration::from_secs(30))
//!     .wait(Duration::from_secs(5))
//!     .acquire()
//!     .await?;
//!
//! // If the lock is lost, the work is dropped at its current await point: `Err(Lost)`.
//! let shipped = guard.run(async |_| Ok::<_, leasehold::Error>(1)).await?;
//! # assert_eq!(shipped, 1);
//!
//! // The token increases with each acquisition. The resource rejects writes with a smaller token.
//! let token = guard.token();
//! # assert!(token.get() > 0);
//!
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Startup and shutdown
//!
//! ```no_run
//! # async fn run(server: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::LockManager;
//!
//! let locks = LockManager::connect("redis://127.0.0.1").await?; // or any other URL that `connect` names
//! locks.set_global_default()?; // for code that names no manager, such as annotated functions
//! server.await; // until it is asked to stop
//! locks.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Use one manager per process. A manager and its clones share one watchdog and a few connections. A dropped guard
//! releases its lock in a background task, and this task stops when the runtime ends. So call
//! [`shutdown`](LockManager::shutdown) before the runtime ends, after the work under locks has finished. Otherwise
//! waiters wait until the TTL has passed.
//!
//! # The problem, and how this crate handles it
//!
//! A process can be paused, a packet can be late, and a clock can jump. So a distributed lock is a *lease*: it has a
//! TTL, and a holder that stops renewing loses it. This crate handles the consequences:
//!
//! - The **watchdog** renews each lease at a third of its TTL while its guard lives. It never renews a lease after the
//!   lock was granted to another holder. So the TTL only decides how long the lock stays taken after a *crash*.
//! - **A loss is reported.** A guard is invalid from its deadline on, by this process's own clock, even if the backend
//!   cannot be reached. Then [`is_valid`](LockGuard::is_valid) is false, [`ended`](LockGuard::ended) resolves with a
//!   reason, and [`run`](LockGuard::run) drops its body.
//! - **Without a guard the body does not run.** If the backend is down, an acquire returns an error. An outage is never
//!   reported as a busy lock.
//! - **Cancelling is safe.** Every future can be dropped at any point. The manager then undoes its request in the
//!   background.
//! - **Waiters are served first come, first served**, and notified when it is their turn. Only Redlock does not
//!   guarantee an order.
//!
//! # Guarantees and limits
//!
//! These guarantees hold in process. They also hold on one Redis server that loses no data (`appendonly yes`,
//! `appendfsync always`, `maxmemory-policy noeviction`) and whose clock is not set forward:
//!
//! | | holds | as long as |
//! |---|---|---|
//! | exclusion | two guards of one key are never both valid | no operator forces a lock open, and the code under the lock stops when its guard is lost. [`run`](LockGuard::run) stops the code at an await point, and cannot interrupt it between two await points |
//! | order of tokens | each acquisition's token is larger than all earlier tokens of its key | always. After a server lost its memory, or a process with in-process locks restarted, only if the clock of that server or process was not set back |
//! | progress | a lock is free, or granted to the first waiter, at most one TTL after its holder stopped renewing | always. A waiter that crashed in the queue may add 4 s in process and 13 s on Redis. Any number of crashed waiters may add 10 s and 46 s. On Redis a release may grant the lock to a waiter of the same process. If that waiter has crashed, it counts as a holder that stopped renewing |
//! | order of waiters | first come, first served; on Redis order can slip by 10 ms or one release | a waiter's task is polled at least every 6 s (Redis: 33 s) while it waits, and within 2 s of its turn. Otherwise the waiter moves to the end of the queue. On Redis a waiter that is not connected when its turn comes is skipped |
//!
//! A Redis server grants a lock to a second holder if it loses the lock's data, or if its clock jumps past the lease.
//! The same happens on a failover to a replica that has not seen the lock yet. The first holder detects this with its
//! next renewal, and has the smaller token.
//!
//! The protocol on one Redis server has been model-checked for two and three attempts, including queue, hand-off, and
//! the results that `once` records. The model includes late and duplicate requests, crashes and deleted keys;
//! `dev/model` in the repository lists the results and the limits of the model. It covers exclusive locks only.
//! Readers, permits, downgrades and handovers were tested with random histories against a plain specification, in
//! process and on a real server.
//!
//! The protocol of [`Redlock`](backend::redlock::Redlock) and its tokens have also been model-checked, for up to five
//! nodes and three rounds. In this model, servers restart with and without their memory. The model does not include
//! `FLUSHALL`, or two rounds with one id.
//!
//! Exclusion between readers and writers, and the limit of permits, hold under the same conditions as exclusion. If a
//! reader or a holder of permits stops renewing, a waiter waits for that holder's own lease and up to one second more.
//!
//! [`guarantees`] lists all of this per backend and option, with the tests of each statement.
//!
//! **A lock alone does not protect data.** Code that has checked its guard can be paused before its next write, for
//! longer than the lease. Let the resource compare [`FencingToken`]s, so that it rejects late writes. Use the crate
//! `leasehold-sqlx` for SQL, a `FencedPipeline` for Redis, `leasehold-tower` for HTTP, and a [`FenceStore`] elsewhere.
//! A lock does not replace idempotency either: interrupted work may be half done.
//!
//! # Outcomes
//!
//! | call | returns |
//! |---|---|
//! | [`Lock::acquire`] | a [`LockGuard`], or [`Error`]: timed out, closed, backend failed (definitely not applied, or unknown) |
//! | [`Lock::try_acquire`] | a [`LockGuard`], or `None` if the lock is busy, which is not an error; otherwise [`Error`] |
//! | [`LockSet::acquire`] | a [`LockSetGuard`] for all of the keys, or an [`Error`] and no lock |
//! | [`Lock::run`] | the body's output, after the lock was released or its release was moved to the background; an error if the lock was not acquired or was lost |
//! | [`Election::campaign`] | the body's output, after the lock was released; an error if the manager was shut down, or if the backend failed permanently |
//! | [`LockGuard::run`] | the body's result, or [`Error::Lost`] |
//! | [`LockGuard::release`] | nothing, or [`Error::Lost`] if the lock was already lost |
//!
//! These calls return [`Error`]. The `run` methods return your error type, into which [`Error`] converts.
//!
//! # Kinds of lock
//!
//! | | held alongside | from |
//! |---|---|---|
//! | a lock | no other holder | [`LockManager::lock`] |
//! | a reentrant lock | the other guards of its [`ReentrancyScope`] | [`Lock::reentrant`] |
//! | several locks as one | no other holder, on any of their keys | [`LockManager::lock_all`] |
//! | a reader's lock | other readers | [`LockManager::rw_lock`] |
//! | permits of a semaphore | other holders, as long as permits are left | [`LockManager::semaphore`] |
//!
//! The holder of an exclusive lock can also be a leader that is elected again and again: [`LockManager::election`].
//!
//! # Annotating a function
//!
//! ```
//! # #[cfg(feature = "macros")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), leasehold::Error> {
//! use leasehold::{LockManager, distributed_lock};
//!
//! #[distributed_lock("order:{order_id}", ttl = "30s", wait = "5s", guard = lock)]
//! async fn ship(order_id: u64) -> Result<i64, leasehold::Error> {
//!     Ok(lock.token().get()) // only one holder at a time gets here
//! }
//!
//! LockManager::in_process().set_global_default().unwrap(); // once, at startup
//! assert!(ship(42).await? > 0);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "macros"))]
//! # fn main() {}
//! ```
//!
//! # Defaults
//!
//! | | value |
//! |---|---|
//! | TTL | 30 s |
//! | renewal | on, at a third of the TTL; off with [`Lock::without_renewal`] |
//! | longest hold time | none; [`Lock::max_hold`] |
//! | shortest hold time | none; [`Lock::hold_at_least`] |
//! | wait | forever; [`Lock::wait`] |
//! | key prefix | `lock:` |
//! | label of the manager | host name and process id |
//! | command timeout, backend retry timeout | 2 s, 10 s |
//!
//! # Testing your own code
//!
//! [`LockManager::in_process`] shares no state with other managers, and uses tokio's clock. With
//! `#[tokio::test(start_paused = true)]` leases expire without a real wait. With the feature `test-util`, call
//! `guard.simulate_loss()` or `locks.simulate_loss(key)` to test how your code handles a loss. The module `chaos` runs
//! your code many times, and in each run one fault happens at one await.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `blocking` | [`blocking`]: locks for code without async |
//! | `conformance` | the suite that every backend must pass, and a wrapper that makes a backend misbehave |
//! | `cron` | `Schedule`: the fire time that a call belongs to, for jobs that run once per fire time |
//! | `credentials-provider` | Redis passwords and tokens that change: `RedisBuilder::credentials_provider` |
//! | `macros` (default) | [`macro@distributed_lock`] |
//! | `metrics` | counters, gauges and histograms through the `metrics` crate |
//! | `mysql`, `postgres`, `sqlite` | `backend::sql`: locks in a table of the database. Need Rust 1.94 |
//! | `once` (default) | [`Once`]: a body that runs once, and its recorded result |
//! | `redis` (default) | [`backend::redis`]: locks on one server, on the primary that Sentinels report, or on a Cluster; [`backend::redlock`]: locks on a majority of independent servers; and fenced data: `RedisFenceStore`, `FencedPipeline` |
//! | `serde` | [`LockOptions`] in configuration files |
//! | `test-util` | `chaos` and `chaos_test`: your code with a fault at each await; `simulate_loss` on guards, handles and managers. Enables `test-util` of tokio |
//! | `tls-rustls` | TLS to the servers of the enabled backends, with rustls: `rediss://`, `zookeeper+tls://`, and what the URL of a database asks for |
//! | `zookeeper` | `backend::zookeeper`: locks on a `ZooKeeper` ensemble, and when to choose it |
//!
//! # Traces and metrics
//!
//! The span `leasehold.acquire` (`DEBUG`) has the fields `lock.key`, `lock.name`, `lock.label`, `lock.ttl`, `lock.owner`,
//! `lock.token` and `lock.outcome`. `lock.name` is the [name](Lock::name) of the lock, and `lock.label` is the
//! [label](LockManagerBuilder::label) of the manager. Each event with the field `lock.owner` also has `lock.label`.
//! Events:
//!
//! - `WARN`: `leasehold.lost` (also for each lock that is held at a shutdown), `.attempt_failed`, `.wait_failed`,
//!   `.renewal_failed`, `.release_failed`, `.cleanup_failed`, `.close_failed`, `.connect_failed` (of a connect that is
//!   repeated), `.no_notifications`, `.evicting_server`, `.unfit_node`
//! - `INFO`: `.held_by_same_manager` (an acquire has waited 2 s for a lock that its own manager acquired at `acquired_at`)
//! - `DEBUG`: `.given_up`, `.released`, `.skipped`, `.elected`, `.term_ended` (of a leader, with its `outcome`)
//! - `TRACE`: `.renewed`, `.cleaned_up`
//!
//! Each event repeats its name in the field `event`, because text and JSON subscribers omit event names.
//!
//! Metrics: `leasehold.acquires{outcome}`, `leasehold.acquire.duration{outcome}`, `leasehold.pending_acquires`,
//! `leasehold.held_locks`, `leasehold.hold.duration`, `leasehold.ends{reason}`, `leasehold.renewals{outcome}`,
//! `leasehold.releases{outcome}`, `leasehold.local_handoffs`, `leasehold.failures{command}`. No metric has
//! the key as a label. For a lock with a [name](Lock::name), the metrics of acquires, of held locks and of their ends
//! also have the label `name`. The other labels:
//!
//! | | |
//! |---|---|
//! | acquires | `acquired`, `busy`, `closed`, `failed`, `refused`, `recorded` (`once`), `cancelled` |
//! | ends of a lease | `released`, `downgraded`, `handed_over`, `shutdown`, and losses: `expired`, `gone`, `max_hold` |
//! | renewals | `extended`, `failed` |
//! | releases | `released`, `already_lost` |
//! | failures | `attempt`, `wait`, `cleanup`, `release`, `close` |
//!
//! A voluntary end is counted when its release is confirmed or abandoned. If the release finds the lock lost, the end
//! counts as `gone` or `expired`, and the event `leasehold.lost` is emitted.
//!
//! `leasehold.local_handoffs` counts direct hand-offs: acquisitions that the release of another task of this process
//! granted. `leasehold.acquires` includes them.
//!
//! Each new manager describes its metrics and their units to the recorder, so install the recorder first. Set the
//! buckets of the histograms yourself, because exporters have none by default, or buckets for web requests. Use
//! 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10 and your `wait` for `leasehold.acquire.duration`. Use 0.01, 0.1, 1, 10, 60, 600
//! and your `max_hold` for `leasehold.hold.duration`. In `metrics-exporter-prometheus` the method is
//! `set_buckets_for_metric`.
//!
//! Each key of a lock set counts as an acquisition in traces and metrics, once for each request. A nested acquire in a
//! [`ReentrancyScope`] does not count.
//!
//! # Terms
//!
//! An *attempt* is one acquisition with its own id. A [guard](LockGuard) holds a lock, and a [handle](LockHandle)
//! observes it. A *lease* is the time for which the backend grants a lock, and its [token](FencingToken) is the number
//! of that grant.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backend;
pub mod guarantees;

#[doc(inline)]
pub use leasehold_core::{
    Accept, AdmitError, AttemptId, ConnectError, CurrentLock, DEFAULT_BACKEND_RETRY_TIMEOUT,
    DEFAULT_COMMAND_TIMEOUT, DEFAULT_PREFIX, DEFAULT_TTL, Election, EndReason, Ended, Error,
    FenceStore, FencingToken, HandoverTicket, InProcessFenceStore, InvalidKey, InvalidOption,
    InvalidTicket, InvalidToken, Key, KeyProblem, Leader, ListedLock, Lock, LockGuard, LockHandle,
    LockList, LockManager, LockManagerBuilder, LockOptions, LockSet, LockSetGuard, LockSetHandle,
    LockSetReleaseError, Lost, LostInBody, MAX_COMMAND_TIMEOUT, MAX_KEY_BYTES, MAX_KEYS,
    MAX_LABEL_BYTES, MAX_PERMITS, MAX_TTL, NoCurrentLockError, Operation, PermitId,
    ReentrancyScope, ReentrantRelease, RwLock, ShutdownError, Stale, UnconfirmedRelease, check,
    current_lock, current_lock_by_key, current_locks, kind,
};

#[cfg(feature = "blocking")]
#[cfg_attr(docsrs, doc(cfg(feature = "blocking")))]
#[doc(inline)]
pub use leasehold_core::blocking;

#[cfg(feature = "cron")]
#[cfg_attr(docsrs, doc(cfg(feature = "cron")))]
#[doc(inline)]
pub use leasehold_core::{InvalidSchedule, Schedule, Slot};

#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
#[doc(inline)]
pub use leasehold_core::distributed_lock;

#[cfg(feature = "macros")]
#[doc(hidden)]
pub use leasehold_core::__private;

#[cfg(feature = "once")]
#[cfg_attr(docsrs, doc(cfg(feature = "once")))]
#[doc(inline)]
pub use leasehold_core::{DEFAULT_RETENTION, MAX_RESULT_BYTES, MAX_RETENTION, Once, OnceError};

#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
#[doc(inline)]
pub use leasehold_redis::{
    FencedPipeline, FencedPipelineError, MAX_COMMAND_ARGS, RedisFenceStore, RedisReply,
};

/// The version of the `redis` crate whose types are in signatures, such as
/// [`RedisBuilder::connect_client`](backend::redis::RedisBuilder::connect_client).
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub use leasehold_redis::redis;

/// The version of the `sqlx` crate whose types are in signatures, such as
/// [`SqlBackend::new`](backend::sql::SqlBackend::new).
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
#[cfg_attr(
    docsrs,
    doc(cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite")))
)]
pub use leasehold_sql::sqlx;

#[cfg(feature = "conformance")]
#[cfg_attr(docsrs, doc(cfg(feature = "conformance")))]
#[doc(inline)]
pub use leasehold_test::{conformance, conformance_tests};

#[cfg(feature = "test-util")]
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
#[doc(inline)]
pub use leasehold_test::chaos;

#[cfg(all(feature = "macros", feature = "test-util"))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "macros", feature = "test-util"))))]
#[doc(inline)]
pub use leasehold_core::chaos_test;

/// Compiles the README's examples.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the examples of `leasehold-macros`, which does not depend on this crate.
#[cfg(all(
    doctest,
    feature = "macros",
    feature = "redis",
    feature = "cron",
    feature = "once",
    feature = "test-util"
))]
mod macros {
    #[doc = include_str!("../../macros/README.md")]
    struct Readme;
    #[doc = include_str!("../../macros/src/distributed_lock.md")]
    struct DistributedLock;
    #[doc = include_str!("../../macros/src/chaos_test.md")]
    struct ChaosTest;
}

/// Compiles the examples in the guide. The crates `leasehold-sqlx` and `leasehold-tower` compile the chapters that use
/// them.
#[cfg(all(doctest, feature = "macros", feature = "redis"))]
mod guide {
    #[cfg(all(feature = "cron", feature = "once"))]
    #[doc = include_str!("../../docs/guide/02-waiting.md")]
    struct Waiting;
    #[doc = include_str!("../../docs/guide/03-losing-a-lock.md")]
    struct LosingALock;
    #[doc = include_str!("../../docs/guide/05-kinds-of-lock.md")]
    struct KindsOfLock;
    #[cfg(all(feature = "cron", feature = "once"))]
    #[doc = include_str!("../../docs/guide/06-annotated-functions.md")]
    struct AnnotatedFunctions;
    #[cfg(feature = "blocking")]
    #[doc = include_str!("../../docs/guide/09-blocking-code.md")]
    struct BlockingCode;
    #[cfg(feature = "test-util")]
    #[doc = include_str!("../../docs/guide/10-testing.md")]
    struct Testing;
    #[doc = include_str!("../../docs/guide/11-production.md")]
    struct Production;
    #[doc = include_str!("../../docs/guide/12-operate.md")]
    struct Operate;
    #[doc = include_str!("../../docs/guide/13-comparison.md")]
    struct Comparison;
}
