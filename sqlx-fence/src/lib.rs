//! Adds fencing tokens to the writes of sqlx 0.9 (not 0.8). Fencing tokens prevent a stale holder of a lock from
//! overwriting newer data. The locks can be [in the same database](#locks-in-the-database).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::LockManager;
//! use leasehold_sqlx::{Fence, ddl};
//!
//! # let options = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1);
//! # let pool = options.connect("sqlite::memory:").await?;
//! # sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT)").execute(&pool).await?;
//! # sqlx::query("INSERT INTO orders VALUES (42, 'new')").execute(&pool).await?;
//! ddl::add_column(&pool, "orders").await?; // once, or in your migrations
//! ddl::create_fences(&pool).await?;
//!
//! let locks = LockManager::in_process(); // or LockManager::connect("redis://127.0.0.1").await?
//! let guard = locks.lock("order:42").acquire().await?;
//! let fence = Fence::new(guard.token());
//!
//! // A single fenced statement.
//! fence
//!     .query("UPDATE orders SET state = 'paid' WHERE id = ?")
//!     .bind(42)
//!     .execute(&pool)
//!     .await?;
//!
//! // To read and write, claim the resource first. Use `query` here, too, because other code writes these rows with it.
//! let mut tx = fence.begin(&pool, "order:42").await?;
//! let state: String = sqlx::query_scalar("SELECT state FROM orders WHERE id = 42")
//!     .fetch_one(&mut *tx)
//!     .await?;
//! # assert_eq!(state, "paid");
//! fence
//!     .query("UPDATE orders SET state = 'shipped' WHERE id = ?")
//!     .bind(42)
//!     .execute(&mut *tx)
//!     .await?;
//! tx.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A holder can be paused for longer than its lease, between its last check of the lock and its write. Only the
//! database can still stop that write. The database stores the last seen token of each row or resource, and refuses a
//! write with an older token. The call then returns [`Error::Stale`].
//!
//! # Which API to use
//!
//! | API | protects | cost without contention |
//! |---|---|---|
//! | [`FencedPool`]: fences the statements of sqlx with the lock of the task | rows that a newer holder has **written** | no additional round trip; one for some statements on `MySQL` and `MariaDB` |
//! | [`FencedPool::begin`] | as `Fence::begin`, and the rows that it writes | as `Fence::begin` |
//! | [`Fence::query`], [`Fence::query_as`], [`FencedExt`] | rows that a newer holder has **written** | no additional round trip |
//! | [`Fence::begin`] | everything in the transaction, including reads, from its beginning | one additional statement on Postgres and `SQLite`, two on `MySQL` and `MariaDB`; on `SQLite` also three settings within the process |
//! | [`LockedTransaction`]: commits only while its lock is held, which must be in the same database | everything in the transaction, including reads, without a token column | none |
//! | [`SqlIdempotencyStore`] | work that runs again: one effect per idempotency key is committed | one statement for a repeat; for a new key two, and one in the transaction of the work |
//! | [`SqlFenceStore`] | resources outside of the database | its own transaction, begun as by `Fence::begin` |
//! | [`mark`] | a row against changes between a read and a write, for locks without a token | two statements |
//!
//! Start with [`FencedPool`]: code that runs under a lock needs no changes, and all of its writes carry the token. Use
//! [`Fence`] if the token comes from elsewhere, to require a number of rows, or to compare tokens on `MySQL` without
//! preparing each statement again.
//!
//! A single statement alone has a *first-write gap*:
//!
//! 1. The newer holder reads a row.
//! 2. The late write of the older holder passes, because the newer holder has not written the row yet.
//! 3. The newer holder overwrites the row, based on the data that it has read.
//!
//! `Fence::begin` closes this gap: after its first statement, every `begin` of an older holder returns
//! [`Error::Stale`].
//!
//! # Using `begin` and `query` on the same rows
//!
//! [`FencedPool`] follows these rules automatically.
//!
//! `begin` compares the token of the resource, in the table `leasehold_fences`. `query` compares the token of the row.
//! Neither checks the token of the other. So if any code writes a row with `query`:
//!
//! - Write that row with `query` inside of `begin`, too.
//! - An `INSERT` inside of `begin` must set the token column.
//!
//! Plain statements inside of `begin` are protected only against other `begin` transactions. A late `query` of an older
//! holder still passes, and a plain write of an older holder can overwrite the data of a newer `query`. A row that is
//! only read inside of `begin` always has the first-write gap for a late `query`. To close this gap, use `begin`
//! everywhere.
//!
//! # Where tokens must come from
//!
//! **Always fence a row or a resource with tokens of the same key and the same backend.** Tokens of different keys or
//! backends are not comparable: the database could refuse the current holder, or accept an old holder.
//!
//! If some code locks a row as `order:42` and other code as `customer:7`, use one column for each
//! ([`Fence::with_column`]). If a service moves to another Redis or to `ZooKeeper`, use another column and other
//! resource names. Alternatively, wait until no holder of the old backend can write, set the column to 0 and empty
//! `leasehold_fences`.
//!
//! # Statements that are refused
//!
//! The crate does not send a statement that it cannot fence safely. [`Error::Rewrite`] contains the position, the
//! problem and a remedy. The crate returns this error for:
//!
//! - executable comments, and a second statement
//! - an assignment to the token column
//! - a `WITH` that writes
//! - joined tables if it is unclear which one is written
//! - `ORDER BY` with `LIMIT`
//! - gaps in numbered placeholders (`$1`, `$3`), and mixed kinds of placeholders
//! - `OR REPLACE`
//! - strings whose end depends on a setting of the server
//! - syntax that the parser does not know
//!
//! Run such a statement inside of `fence.begin`. If other code uses `query` on its rows, set and compare the token
//! column yourself.
//!
//! The fence does not cover rows that are changed by:
//!
//! - triggers, rules, and functions in the statement
//! - foreign keys with `CASCADE`, `SET NULL` or `SET DEFAULT`, both `ON UPDATE` and `ON DELETE`
//! - on `SQLite`, constraints with `ON CONFLICT REPLACE`, which delete rows: write `UPDATE OR ABORT`
//!
//! # Isolation
//!
//! Our tests cover every isolation level of Postgres, `MariaDB` and `SQLite`. From repeatable read on, the current
//! holder can also get a serialization failure if a row was changed concurrently. Its code is 40001 on Postgres, 1020
//! or 1213 on `MariaDB`, and 517 on `SQLite`. The call returns this failure as [`Error::Sqlx`]: begin the transaction
//! again.
//!
//! # Locks in the database
//!
//! With its features `postgres`, `mysql` and `sqlite`, the crate `leasehold` stores locks in the table `leasehold_locks`,
//! so a program needs no other server for them. A [`LockedTransaction`] then commits only while its lock is held.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `metrics` | counters through the `metrics` crate |
//! | `mysql` | `MySQL` and `MariaDB` (tested: `MariaDB` 10.11) |
//! | `postgres` | Postgres (tested: 15) |
//! | `sqlite` | `SQLite`, bundled |
//! | `tls-rustls` | TLS to databases, with rustls and the certificates that the system trusts |
//!
//! No feature is enabled by default. Select another TLS of sqlx in your own dependency on sqlx.
//!
//! # Traces and metrics
//!
//! Events: `leasehold_sqlx.stale`, `.partially_stale` (`WARN`), `.busy` (`DEBUG`), `.written`, `.begun` (`TRACE`). The
//! field `event` contains the name of the event. The field `resource` contains the resource of
//! `begin`, or the table of a fenced statement. Metric: `leasehold.sqlx.writes{outcome}`, with the same outcomes.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod database;
pub mod ddl;
mod error;
mod errors_through_sqlx;
mod fence;
mod fenced_transaction;
mod idempotency_store;
mod isolation_level;
mod locked_transaction;
#[doc = include_str!("mark.md")]
pub mod mark {}
mod events_and_metrics;
mod fence_store;
mod idempotency_record;
mod pool;
mod query;
mod resource_names;
mod rewrite;
mod table_and_column_names;
mod table_definitions;

pub use leasehold_core::{AdmitError, FenceStore, FencingToken, InvalidToken, Stale};
pub use leasehold_sql::{LockDatabase, SqlBackend};

pub use self::database::{Completable, FencedDatabase};
pub use self::error::{Error, Position};
pub use self::fence::Fence;
pub use self::fence_store::SqlFenceStore;
pub use self::fenced_transaction::{Begin, DEFAULT_LOCK_TIMEOUT};
pub use self::idempotency_record::IdempotencyRecord;
pub use self::idempotency_store::{OpenTransaction, SqlIdempotencyStore};
pub use self::isolation_level::Isolation;
pub use self::locked_transaction::{LockedBegin, LockedTransaction};
pub use self::pool::{FencedBegin, FencedConnection, FencedPool, FencedTransaction};
pub use self::query::{Fenceable, FencedExt, FencedQuery};

/// The default name of the token column.
pub const DEFAULT_COLUMN: &str = "fencing_token";

/// Compiles the examples in this crate's README, and in the chapters of the guide that use this crate.
#[cfg(all(doctest, feature = "postgres", feature = "sqlite"))]
mod guide {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/guide/01-first-lock.md")]
    struct FirstLock;
    #[doc = include_str!("../../docs/guide/04-fenced-sql.md")]
    struct FencedSql;
    #[doc = include_str!("../../docs/guide/08-backends.md")]
    struct Backends;
}
