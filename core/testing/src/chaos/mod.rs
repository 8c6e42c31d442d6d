//! Tests whether your own code survives a lost lock, a late reply, a pause, or a cancelled request.
//!
//! A chaos test runs an async body many times. The first run has no faults, and counts the points: the awaits of each
//! client, and the requests of its locks. Each further run is the same, except for one fault at one point:
//!
//! | fault | what happens |
//! |---|---|
//! | lost | the client's locks are lost at this await, and the client continues |
//! | paused | the client is paused at this await for longer than its lease, while the other clients run |
//! | cancelled | the client's future is dropped at this await, as for a cancelled request |
//! | late | the reply to this request takes 1.5 s |
//! | unanswered | the backend applies this request, and its reply never arrives |
//!
//! The body contains the setup, the clients, and the invariant. A run fails if the body panics, or if it does not end
//! within an hour of tokio's paused clock. The clients may return errors. The body decides which errors are correct.
//!
//! # Examples
//!
//! Three processes withdraw money. The balance must be correct:
//!
//! ```
//! use std::cell::Cell;
//! use leasehold::chaos::{self, Chaos};
//! use leasehold::{Error, LockManager};
//! use tokio::task::yield_now;
//!
//! /// The code to test. It reads and writes, so it must be the only one.
//! async fn withdraw(locks: &LockManager, balance: &Cell<i64>) -> Result<(), Error> {
//!     let guard = locks.lock("account:71").acquire().await?;
//!     guard
//!         .run(async |_lock| {
//!             let read = balance.get();
//!             yield_now().await; // a real program queries a database here
//!             balance.set(read - 10);
//!             Ok(())
//!         })
//!         .await
//! }
//!
//! // In your tests, write this body as a function with `#[leasehold::chaos_test]`.
//! chaos::test(async |chaos: Chaos| {
//!     let balance = Cell::new(100);
//!     let ends = chaos.clients(3, async |locks| withdraw(&locks, &balance).await).await;
//!     let withdrawn = ends.iter().flatten().filter(|end| end.is_ok()).count();
//!     assert!(balance.get() <= 100 - 10 * withdrawn as i64);
//! });
//! ```
//!
//! Without `guard.run`, the test fails. A client that is paused between the read and the write continues later, and
//! overwrites the balance that the other client has written. The report names the point and the line for a replay:
//!
//! ```text
//! a run failed: assertion failed: balance.get() <= 100 - 10 * withdrawn as i64
//!   fault:  the client is paused for longer than its lease
//!   point:  await 2 of client 1, await 1 after it locked account:71 at tests/bank.rs:8:23
//!   seed:   0
//!   replay: LEASEHOLD_CHAOS=0/1.await2.paused cargo test clients_withdraw
//!   history:
//!         0 ms  client 1 sends Attempt of account:71
//! ..
//! ```
//!
//! # What can be found
//!
//! Faults happen at awaits only. Code without an await runs in one step, so a fake database needs an await, such as
//! `yield_now`. Real pauses also happen between two awaits. Only a fence protects against them: write through a
//! `FencedPool` in the test too.
//!
//! A client is one future: `tokio::join!` in it is one client. A task that it spawns is not paused and not cancelled,
//! but it sees the loss of the lock. Code that blocks the thread is not found, because the paused clock does not advance
//! while a thread is blocked.
//!
//! # Repeatable runs
//!
//! Each run has a new single-threaded runtime, a new in-process backend, and the same tokens and ids. The history does
//! not contain times of the machine. So a replay has the same history, also on another machine, if the body behaves the
//! same. Do not use `tokio::select!` without `biased;`, the order of a `HashMap`, random numbers without a seed, or the
//! time of the machine. [`Summary::unreached`] counts the runs that took another way than the run without faults.
//!
//! Statements of sqlx on `SQLite` run on another thread. The paused clock waits for them, and they run in the order in
//! which they were sent. Each client needs a connection, because a paused client may keep one. So open the pool in
//! [`Chaos::outside`], with `min_connections` and `sqlite::memory:`, whose connections share the database. A statement
//! that takes longer than 50 ms of the machine's time may end at another point of the next run. The test detects the
//! statements with a `tracing` subscriber of its thread, so the runs emit no events.
//!
//! The feature `test-util` enables the feature `test-util` of tokio, which makes tokio's clock slightly slower. Enable
//! it in `dev-dependencies` only.

mod execute_run;
mod explore_faults;
mod failure_report;
mod fault_case;
mod faulted_client;
mod one_run;
mod test_body_handle;
mod wake_ordered_future;
mod work_on_other_threads;

pub use self::explore_faults::{ChaosTest, Summary};
pub use self::failure_report::Failure;
pub use self::test_body_handle::Chaos;

/// Runs a chaos test with the default settings: see [`ChaosTest`], and the [module](self) for an example.
///
/// # Panics
///
/// Panics if a run fails, with the report of [`Failure`].
pub fn test(body: impl AsyncFn(Chaos)) {
    ChaosTest::new().run(body);
}
