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
//!   point:  await 3 of client 1, await 1 after it locked account:71 at tests/bank.rs:8:23
//!   seed:   0
//!   replay: LEASEHOLD_CHAOS=0/1.await3.paused cargo test clients_withdraw
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
//! Statements of sqlx on `SQLite` run on another thread. The paused clock waits for them, and they run in a fixed order.
//! Each client needs a connection, because a paused client may keep one: use `mode=memory&cache=shared` with a name, or
//! a temporary file. Open the pool in [`Chaos::outside`]. The test uses a `tracing` subscriber of its thread to detect
//! these statements, so the runs emit no events.
//!
//! The feature `test-util` enables the feature `test-util` of tokio, which makes tokio's clock slightly slower. Enable
//! it in `dev-dependencies` only.

mod case;
mod client;
mod explore;
mod failure;
mod outside_work;
mod run;
mod settled;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::join_all;

pub use self::explore::{ChaosTest, Summary};
pub use self::failure::Failure;
use crate::LockManager;
use crate::faulty_backend::Faulty;
use crate::runtime::spawn_blocking;
use client::Client;
use run::{Process, Run};

/// Runs a chaos test with the default settings: see [`ChaosTest`], and the [module](self) for an example.
///
/// # Panics
///
/// Panics if a run fails, with the report of [`Failure`].
pub fn test(body: impl AsyncFn(Chaos)) {
    ChaosTest::new().run(body);
}

/// One run of a chaos test.
#[derive(Clone)]
pub struct Chaos {
    run: Arc<Run>,
}

impl Chaos {
    fn new(run: &Arc<Run>) -> Self {
        let run = Arc::clone(run);
        Self { run }
    }

    /// Returns a manager without faults, on the backend of the clients. Use it for the setup, or to inspect locks.
    #[must_use]
    pub fn locks(&self) -> LockManager {
        LockManager::new(self.run.backend.clone())
    }

    /// Runs a client: a process with its own manager, in which faults can happen. The future returns `None` if the
    /// client was cancelled. In `body`, the manager is also the [default](LockManager::as_default) for annotated
    /// functions.
    ///
    /// The clients of a run are numbered in the order of these calls. To run them concurrently, use `tokio::join!` or
    /// [`clients`](Self::clients).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body`.
    ///
    /// # Examples
    ///
    /// ```
    /// use leasehold::chaos::{self, Chaos};
    ///
    /// chaos::test(async |chaos: Chaos| {
    ///     let (reader, writer) = tokio::join!(
    ///         chaos.client(async |locks| locks.rw_lock("prices").read().acquire().await.is_ok()),
    ///         chaos.client(async |locks| locks.lock("prices").acquire().await.is_ok()),
    ///     );
    ///     assert!(!chaos.is_calm() || (reader == Some(true) && writer == Some(true)));
    /// });
    /// ```
    pub fn client<T, B>(&self, body: B) -> impl Future<Output = Option<T>> + use<T, B>
    where
        B: AsyncFnOnce(LockManager) -> T,
    {
        let process = Process::new(&self.run, self.run.next_client());
        let plan = Arc::clone(&process);
        let backend = Faulty::new(self.run.backend.clone(), move |call| plan.plan(call));
        let locks = LockManager::new(backend);
        let body = locks.as_default(body(locks.clone()));
        Client::new(process, locks, body)
    }

    /// Runs `count` clients concurrently, and returns their outputs: see [`client`](Self::client).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all bodies.
    pub async fn clients<T>(
        &self,
        count: usize,
        body: impl AsyncFn(LockManager) -> T,
    ) -> Vec<Option<T>> {
        join_all((0..count).map(|_| self.client(&body))).await
    }

    /// Awaits work outside the runtime of the run, such as opening a database. The paused clock does not advance
    /// meanwhile.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `work`.
    pub async fn outside<T>(&self, work: impl Future<Output = T>) -> T {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        // tokio does not advance the paused clock while a blocking task runs.
        let _clock_stands_still = spawn_blocking(move || {
            let _is_done = is_done.recv();
        });
        let output = work.await;
        drop(done);
        output
    }

    /// Returns whether this is the run without faults. Use it for assertions that hold only without faults.
    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.run.case.is_none()
    }

    /// Returns the seed, for the random numbers of the body.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.run.seed
    }
}

impl fmt::Debug for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chaos")
            .field("seed", &self.run.seed)
            .field("fault", &self.run.case.map(|it| it.to_string()))
            .finish_non_exhaustive()
    }
}
