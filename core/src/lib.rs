//! A lock that many machines share, and a guard that tells the truth about it.
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
//! // Dropped where it stands if the lock is lost: `Err(Lost)`.
//! let shipped = guard.run(async { /* read, think, write */ 1 }).await?;
//! # assert_eq!(shipped, 1);
//!
//! // Grows with each acquisition: the resource refuses a write with an older one.
//! let token = guard.token();
//! # assert!(token.get() > 0);
//!
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Starting and ending
//!
//! ```no_run
//! # async fn run(server: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::LockManager;
//!
//! let locks = LockManager::connect("redis://127.0.0.1").await?; // or any other URL that `connect` names
//! locks.set_global_default()?; // for code that names no manager, such as annotated functions
//! server.await; // until it is told to stop
//! locks.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! One manager for the process: it has one watchdog and few connections, and its clones are the same manager. A guard that
//! is dropped releases in the background, and a runtime that ends takes that along: call
//! [`shutdown`](LockManager::shutdown) before, when the work under locks is over, or others wait for the TTL.
//!
//! # The problem, and what is done about it
//!
//! Any process can be paused, any packet late, any clock can jump. So a lock that is shared between
//! machines is a *lease*: it has a TTL, and a holder that falls silent loses it. What follows from that
//! is this crate's work:
//!
//! - The **watchdog** renews each lease at a third of its TTL for as long as its guard lives, and never a
//!   lease that is somebody else's by now. The TTL thus says how long after a *crash* the lock stays taken.
//! - **Loss is loud.** From its deadline on a guard is invalid, by this process's own clock, whether or not
//!   the backend can be reached: [`is_valid`](LockGuard::is_valid) is false, [`lost`](LockGuard::lost)
//!   resolves with a reason, and [`run`](LockGuard::run) drops the work that it protects.
//! - **No guard, no body.** When the backend is down, an acquire is an error. An outage is never reported as
//!   a busy lock, and nothing runs unlocked.
//! - **Cancelling is safe.** Every future can be dropped at any point. What it may have left on the backend is
//!   cleaned up in the background.
//! - **Waiters are served in the order in which they came**, and woken when it is their turn. Redlock alone promises no
//!   order.
//!
//! # What is guaranteed, and what is not
//!
//! In process, and on one Redis server that loses nothing (`appendonly yes`, `appendfsync always`,
//! `maxmemory-policy noeviction`) and whose clock is not set forward:
//!
//! | | holds | as long as |
//! |---|---|---|
//! | exclusion | two guards of one key are never both valid | no operator forces a lock open, and the code under the lock stops when its guard is lost: [`run`](LockGuard::run) sees to it between two steps of a future, not inside one |
//! | order of tokens | each acquisition's token is larger than all before it | always; over a loss of the server's memory, or a restart of the process that locks in itself: the clock there was not set back |
//! | progress | a lock is free, or handed to the first waiter, at the latest one TTL after its holder fell silent | always; a waiter that died in the queue may add 4 s in process and 13 s on Redis, any number of them 10 s and 46 s. On Redis a release may make a waiter of its own process the holder: if that one is dead, it counts as a holder that fell silent |
//! | order of waiters | first come, first served; on Redis to within 10 ms and a release | a waiter's task is polled at least every 6 s (Redis: 33 s) while it waits, and within 2 s of its turn, or it goes to the end (on Redis within its TTL, if a release of its process passed the lock on to it); on Redis it is connected when its turn comes, or it is passed over |
//!
//! A Redis server that forgets a lock, or whose time of day jumps past the end of its lease, or a failover to a replica
//! that has not seen it yet, lets a second holder in:
//! the first is told by its next renewal, and its token is the smaller one. The protocol on one Redis server, queue and
//! hand-off included, has been model-checked for two and three attempts, with late and doubled requests, deaths and
//! keys taken away; `dev/model` in the repository says what holds, and what is not modelled. The model is of locks that
//! one holds alone: readers, permits, downgrades and handovers have been tried in random histories against a plain
//! specification, in process and on a real server, and not model-checked. So has the protocol of a majority of several
//! servers ([`Redlock`](backend::redlock::Redlock)) and its tokens, for up to five nodes and three rounds, with servers that
//! are restarted, with and without their memory; not with a `FLUSHALL`, nor with one id for two rounds.
//!
//! Exclusion between readers and writers, and the number of permits, hold as exclusion does. A reader, or a holder of
//! permits, that falls silent keeps a waiter for its own lease and up to a second more.
//!
//! [`guarantees`] says all of this per backend and option, with the test that attacks each sentence.
//!
//! **A lock alone does not protect data.** Code that checked its guard can be paused before the write that
//! follows, for longer than the lease. Let the resource compare [`FencingToken`]s, and a write that comes too
//! late is refused: in SQL with the crate `leasehold-sqlx`, in Redis with a `FencedPipeline`, over HTTP with
//! `leasehold-tower`, elsewhere with a [`FenceStore`]. A lock is no
//! substitute for idempotency either: work that was cut short may have been done in part.
//!
//! # Outcomes
//!
//! | call | answers |
//! |---|---|
//! | [`Lock::acquire`] | a [`LockGuard`], or [`AcquireError`]: timed out, closed, backend failed (surely not applied, or unknown) |
//! | [`Lock::try_acquire`] | `None` if it is busy, which is not an error |
//! | [`LockSet::acquire`] | a [`LockSetGuard`] for all of several keys, or none of them and an [`AcquireError`] |
//! | [`Lock::run`] | the body's output, when its lock is released or that is left to the background; or why it was not acquired, or was lost |
//! | [`LockGuard::run`] | the body's output, or [`Lost`] |
//! | [`LockGuard::release`] | [`Released`](ReleaseOutcome::Released) or [`AlreadyLost`](ReleaseOutcome::AlreadyLost) |
//!
//! All errors of locks convert into [`Error`].
//!
//! # Kinds of lock
//!
//! | | held beside | from |
//! |---|---|---|
//! | a lock | nobody | [`LockManager::lock`] |
//! | a reentrant lock | the other guards of its [`OwnerScope`] | [`Lock::reentrant`] |
//! | several locks as one | nobody, on any of their keys | [`LockManager::lock_all`] |
//! | a reader's lock | other readers | [`LockManager::read_lock`] |
//! | permits of a semaphore | others, as long as there are permits | [`LockManager::semaphore`] |
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
//!     Ok(lock.token().get()) // only one at a time gets here
//! }
//!
//! LockManager::in_process().set_global_default().unwrap(); // once, at start
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
//! | longest hold | none; [`Lock::max_hold`] |
//! | wait | for ever; [`Lock::wait`] |
//! | key prefix | `lock:` |
//! | command timeout, outage limit | 2 s, 10 s |
//!
//! # Testing your own code
//!
//! [`LockManager::in_process`] is a world of its own, on tokio's clock: with `#[tokio::test(start_paused = true)]`
//! leases run out in no time. With the feature `test-util`, `guard.simulate_loss()` shows how your code takes a
//! loss.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `cluster` | `redis+cluster://`: Redis Cluster |
//! | `conformance` | the suite that every backend must pass, and a wrapper that makes a backend misbehave |
//! | `macros` (default) | [`macro@distributed_lock`] |
//! | `metrics` | counters, gauges and histograms through the `metrics` crate |
//! | `redis` (default) | [`backend::redis`], `LockManager::connect`, and fenced data: `RedisFenceStore`, `FencedPipeline` |
//! | `redlock` | `redlock://` and `backend::redlock`: locks on a majority of independent Redis servers |
//! | `sentinel` | `redis+sentinel://`: the primary that Redis Sentinels name, and the next one after a failover |
//! | `test-util` | `LockGuard::simulate_loss` |
//! | `tls-rustls` | `rediss://`: TLS to Redis, with rustls |
//! | `zookeeper` | `backend::zookeeper`: locks on a `ZooKeeper` ensemble, and when to choose it |
//! | `zookeeper-tls` | `zookeeper+tls://`: TLS to `ZooKeeper`, with rustls |
//!
//! # Traces and metrics
//!
//! The span `leasehold.acquire` (`DEBUG`) has the fields `lock.key`, `lock.ttl`, `lock.owner`, `lock.token` and
//! `lock.outcome`. Events: `leasehold.lost` (at a shutdown, too, for each lock that is held), `.attempt_failed`, `.wait_failed`, `.renewal_failed`,
//! `.release_failed`, `.cleanup_failed`, `.close_failed`, `.no_wake_ups`, `.evicting_server`, `.unfit_node` (`WARN`), `.given_up`, `.released`,
//! `.skipped` (`DEBUG`),
//! `.renewed`, `.cleaned_up` (`TRACE`). Each has its name in the field `event`, too, since what writes events as text or JSON
//! leaves their names out.
//!
//! Metrics: `leasehold_acquires_total{outcome}`, `leasehold_acquire_seconds{outcome}`, `leasehold_acquiring`,
//! `leasehold_held`, `leasehold_hold_seconds`, `leasehold_endings_total{reason}`,
//! `leasehold_renewals_total{outcome}`, `leasehold_releases_total{outcome}`, `leasehold_passed_on_total`,
//! `leasehold_failures_total{command}`. None carries a key. The labels:
//!
//! | | |
//! |---|---|
//! | acquires | `acquired`, `busy`, `closed`, `failed`, `refused`, `cancelled` |
//! | endings | `released`, `downgraded`, `handed_over`, `shutdown`, and losses: `expired`, `gone`, `max_hold` |
//! | renewals | `extended`, `failed` |
//! | releases | `released`, `already_lost` |
//! | failures | `attempt`, `wait`, `cleanup`, `release`, `close` |
//!
//! An ending that a holder asked for is counted when its release is confirmed, or given up: a lock that the release finds
//! lost counts as `gone` or `expired`, and `leasehold.lost` tells of it.
//!
//! `leasehold_passed_on_total` counts the acquisitions that needed no request of their own in the end: the release of
//! another task of this process passed the lock on. They are in `leasehold_acquires_total` as well.
//!
//! What each of them is, and in which unit, is told to the recorder with each manager that is made: install the recorder
//! before. Set the buckets of the histograms yourself, as the defaults of exporters are for web requests, or are none: for
//! `leasehold_acquire_seconds` 0.001, 0.005, 0.02, 0.1, 0.5, 2 and 10, and the `wait` that you give, and for
//! `leasehold_hold_seconds` 0.01, 0.1, 1, 10, 60 and 600, and the `max_hold`. With `metrics-exporter-prometheus` that is
//! `set_buckets_for_metric`.
//!
//! A key that is one of several counts as an acquisition of its own in traces and metrics, each time that it is asked
//! for; a nested acquire in an [`OwnerScope`] is none.
//!
//! # Words
//!
//! An *attempt* is one acquisition with an id of its own. A [guard](LockGuard) holds a lock, a
//! [handle](LockHandle) looks at it. A *lease* is the time for which the backend grants it, a
//! [token](FencingToken) its number.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backend;
mod clock;
#[cfg(feature = "conformance")]
#[cfg_attr(docsrs, doc(cfg(feature = "conformance")))]
pub mod conformance;
mod engine;
mod error;
mod escaped_text;
mod event_macro;
mod events;
mod fence;
mod fencing_token;
pub mod guarantees;
mod handover_ticket;
mod held_context;
mod key;
mod lock;
mod lock_set;
#[cfg(feature = "macros")]
mod macro_support;
mod manager;
mod metrics;
mod options;
mod owner_id;
mod reentrant;
mod runtime;

pub use backend::ConnectError;
pub use error::loss::{LossReason, Lost, LostInBody, ReleaseOutcome};
pub use error::{
    AcquireError, ConvertError, Error, LockSetReleaseError, NoManager, ReleaseError, RenewError,
    ShutdownError,
};
pub use fence::{AdmitError, FenceStore, InProcessFenceStore, Stale};
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub use fence::{
    FencedPipeline, FencedPipelineError, MAX_COMMAND_WORDS, RedisFenceStore, RedisReply,
};
pub use fencing_token::{FencingToken, InvalidToken};
pub use handover_ticket::{HandoverTicket, InvalidTicket};
pub use key::{InvalidKey, Key, KeyProblem, MAX_KEY_BYTES};
pub use lock::Lock;
pub use lock::guard::LockGuard;
pub use lock::held_handle::LockHandle;
pub use lock::kind;
pub use lock::permit_id::SlotToken;
pub use lock::run::Run;
pub use lock_set::{LockSet, LockSetGuard, LockSetHandle, LockSetReleaseOutcome, LockSetRun};
pub use manager::{GlobalDefaultSet, LockManager, LockManagerBuilder};
pub use options::{
    DEFAULT_COMMAND_TIMEOUT, DEFAULT_OUTAGE_LIMIT, DEFAULT_PREFIX, DEFAULT_TTL, InvalidOption,
    MAX_COMMAND_TIMEOUT, MAX_KEYS, MAX_PERMITS, MAX_TTL,
};
pub use owner_id::OwnerId;
pub use reentrant::{OwnerScope, ReentrantReleaseOutcome};

#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
pub use leasehold_macros::distributed_lock;

/// What the expansion of `#[distributed_lock]` calls. Not for anybody else: it may change in any release.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use std::format;

    pub use super::macro_support::{
        AsManager, Call, FromLockError, HeldCall, LockedReturn, PendingCall, Skippable, escaped,
    };
}

/// The README's examples compile.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../README.md")]
struct Readme;
