//! Fencing tokens for sqlx 0.9 (0.8 is not supported): a stale holder of a lock cannot overwrite newer data.
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
//! // A single statement.
//! fence
//!     .query("UPDATE orders SET state = 'paid' WHERE id = ?")
//!     .bind(42)
//!     .execute(&pool)
//!     .await?;
//!
//! // Reads and writes: claim first. `query` here, too, since others write these rows with it.
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
//! A holder can be paused between its last look at the lock and its write, for longer than its lease. The database
//! is where the write can still be stopped: each row, or each resource, remembers the newest token that wrote to
//! it, and refuses older ones: [`Error::Stale`].
//!
//! # Which one
//!
//! | | protects | costs, when all is well |
//! |---|---|---|
//! | [`Fence::query`], [`Fence::query_as`], [`FencedExt`] | rows that a newer holder has **written** | nothing more to send: one round trip |
//! | [`Fence::begin`] | everything in the transaction, reads too, from the moment it is begun | one statement on Postgres and `SQLite` and two on `MySQL` and `MariaDB`, besides those of any transaction; on `SQLite` also three settings that do not leave the process |
//! | [`SqlFenceStore`] | what is outside of the database | a transaction of its own, begun as by `Fence::begin` |
//! | [`mark`] | from changes between a read and a write, without a token | two statements |
//!
//! With `Fence::query` alone there is a *first-write gap*: the newer holder reads, the older one's late write passes,
//! since nothing newer has been written yet, and the newer one overwrites it from what it has read. `Fence::begin`
//! closes it: from its first statement on, older holders who begin are refused.
//!
//! **Both on the same rows**: `begin` compares the token of the resource, in `fences`; `query` compares that of the row.
//! Neither sees the other. Rows that anybody writes with `query` are written with `query` within `begin`, too, and an
//! `INSERT` there sets the column with the token. With plain statements `begin` keeps out those alone who begin: the
//! late `query` of an older holder passes, and so does its plain write over what a newer `query` wrote. A row that was
//! only read in it has the first-write gap towards a late `query` in any case: where that matters, let all begin.
//!
//! # Whose tokens
//!
//! **A row, and a resource, is fenced under one key, always the same, from one backend.** Tokens of another key or of another
//! backend do not compare: with them the rightful holder is refused, or a late one admitted. So a row that is locked as
//! `order:42` here and as `customer:7` there needs a column for each ([`Fence::with_column`]), and a service that moves from
//! one Redis to another, or to `ZooKeeper`, begins anew: with another column and other names of resources; or, when all
//! holders under the old one have ended and none of them can write any more, with the column set to 0 and `fences` emptied.
//!
//! # What is refused
//!
//! A statement that cannot be fenced for sure is not sent: [`Error::Rewrite`] says where, why, and what to do. So are
//! executable comments, a second statement, an assignment to the token's column, a `WITH` that writes, joined tables of
//! which it is unclear which is written to, `ORDER BY` with `LIMIT`, gaps in `$1`, `$3`, kinds of placeholders mixed,
//! `OR REPLACE`, and strings that end in another place by another setting of the server. What the grammar does not know
//! is refused, too: write it within `fence.begin`, and set and compare the token's column yourself where others use
//! `query`.
//!
//! Not seen: what is written by triggers, rules, functions within the statement, and foreign keys with `CASCADE`,
//! `SET NULL` or `SET DEFAULT`, `ON UPDATE` as well as `ON DELETE`; and on `SQLite` the rows that a constraint declared with
//! `ON CONFLICT REPLACE` deletes: write `UPDATE OR ABORT` there.
//!
//! # Isolation
//!
//! Tested at every isolation level of Postgres, `MariaDB` and `SQLite`. From repeatable read on, Postgres answers the
//! rightful holder too with a serialization failure (40001) where a row has changed meanwhile; `MariaDB` with 1020 or
//! 1213, `SQLite` with 517. They are [`Error::Sqlx`]: begin the transaction anew.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `metrics` | counters through the `metrics` crate |
//! | `mysql` | `MySQL` and `MariaDB` (tested: `MariaDB` 10.11) |
//! | `postgres` | Postgres (tested: 15) |
//! | `sqlite` | `SQLite`, bundled |
//!
//! None is on by default. Choose sqlx's runtime and TLS in your own dependency on sqlx.
//!
//! # Traces and metrics
//!
//! Events: `leasehold_sqlx.stale`, `.partially_stale` (`WARN`), `.busy` (`DEBUG`), `.written`, `.begun` (`TRACE`). Each has
//! its name in the field `event`, too, and in `resource` the resource of `begin`, or the table of a fenced statement.
//! Metric: `leasehold_sqlx_writes_total{outcome}`, with the same outcomes.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod begin;
mod database;
pub mod ddl;
mod error;
mod event;
mod fence;
mod isolation;
#[doc = include_str!("mark.md")]
pub mod mark {}
mod name;
mod observe;
mod query;
mod resource;
mod rewrite;
mod schema;
mod store;

pub use leasehold::{AdmitError, FenceStore, FencingToken, InvalidToken, Stale};

pub use self::begin::{Begin, DEFAULT_LOCK_LIMIT};
pub use self::database::{Completable, FencedDatabase};
pub use self::error::{Error, Position};
pub use self::fence::Fence;
pub use self::isolation::Isolation;
pub use self::query::{Fenceable, FencedExt, FencedQuery};
pub use self::store::SqlFenceStore;

/// The column with the token, unless a fence is told otherwise.
pub const DEFAULT_COLUMN: &str = "fencing_token";
