//! The body's future and all arguments are dropped before the lock is released.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use leasehold::{Error, LockHandle, LockManager, distributed_lock};
use tracing::instrument;

/// Records each drop, and whether the lock was held at that moment.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    lock: Option<LockHandle>,
    drops: Vec<(&'static str, bool)>,
}

impl Log {
    fn watch(&self, lock: &LockHandle) {
        self.0.lock().unwrap().lock = Some(lock.clone());
    }

    fn argument(&self, name: &'static str) -> Argument {
        Argument(name, self.clone())
    }

    fn assert_dropped_under_the_lock(&self, names: &[&'static str]) {
        let seen = self.0.lock().unwrap();
        let mut dropped: Vec<_> = seen.drops.iter().map(|(name, _)| *name).collect();
        dropped.sort_unstable();
        assert_eq!(dropped, names);
        assert!(seen.drops.iter().all(|(_, held)| *held), "{:?}", seen.drops);
    }
}

struct Argument(&'static str, Log);

impl Drop for Argument {
    fn drop(&mut self) {
        let mut seen = self.1.0.lock().unwrap();
        let held = seen.lock.as_ref().is_some_and(LockHandle::is_valid);
        seen.drops.push((self.0, held));
    }
}

struct Wrapped<T>(T);

/// How a body ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Answer,
    Fail,
    Panic,
    Wait,
}

impl End {
    const ALL: [Self; 4] = [Self::Answer, Self::Fail, Self::Panic, Self::Wait];

    async fn come(self) -> Result<(), Error> {
        match self {
            Self::Answer => Ok(()),
            Self::Fail => Err(LockManager::in_process()
                .lock("")
                .acquire()
                .await
                .map(drop)
                .unwrap_err()),
            Self::Panic => panic!("planned"),
            Self::Wait => pending().await,
        }
    }
}

/// Runs a call until it ends in any way.
async fn finish(call: impl Future<Output = Result<(), Error>>) {
    let call = AssertUnwindSafe(call).catch_unwind();
    // The timeout drops a call that waits forever.
    let _ended = tokio::time::timeout(Duration::from_secs(1), call).await;
}

#[distributed_lock("k", manager = locks, guard = lock)]
async fn plain(
    locks: LockManager,
    log: Log,
    end: End,
    _unused: Argument,
    _: Argument,
    Wrapped(_inside): Wrapped<Argument>,
    (_left, _): (Argument, Argument),
) -> Result<(), Error> {
    log.watch(&lock);
    let _local = log.argument("local");
    end.come().await
}

#[distributed_lock("k", manager = locks, guard = lock, lost = "continue")]
async fn to_the_end(locks: LockManager, log: Log, end: End, _: Argument) -> Result<(), Error> {
    log.watch(&lock);
    end.come().await
}

#[distributed_lock("k", manager = locks, guard = lock)]
#[instrument(skip_all)]
async fn instrumented_below(
    locks: LockManager,
    log: Log,
    end: End,
    _unused: Argument,
    _: Argument,
) -> Result<(), Error> {
    log.watch(&lock);
    end.come().await
}

#[instrument(skip_all)]
#[distributed_lock("k", manager = locks, guard = lock)]
async fn instrumented_above(
    locks: LockManager,
    log: Log,
    end: End,
    _unused: Argument,
    _: Argument,
) -> Result<(), Error> {
    log.watch(&lock);
    end.come().await
}

#[distributed_lock("k", manager = locks, guard = lock)]
async fn with_a_rest(
    locks: LockManager,
    log: Log,
    (_left, ..): (Argument, Argument),
) -> Result<(), Error> {
    log.watch(&lock);
    Ok(())
}

#[distributed_lock("k", manager = locks, guard = lock)]
async fn with_nothing_of_a_struct(
    locks: LockManager,
    log: Log,
    Wrapped(_): Wrapped<Argument>,
    Wrapped(_named): Wrapped<Argument>,
) -> Result<(), Error> {
    log.watch(&lock);
    Ok(())
}

struct Shop {
    locks: LockManager,
    _argument: Argument,
}

impl Shop {
    #[distributed_lock("k", manager = self.locks, guard = lock)]
    async fn close(self, log: Log, end: End) -> Result<(), Error> {
        log.watch(&lock);
        end.come().await
    }
}

#[async_trait]
trait Closes {
    async fn close_it(
        self: Box<Self>,
        log: Log,
        end: End,
        _: Argument,
        (left, _): (Argument, Argument),
    ) -> Result<(), Error>;
}

#[async_trait]
impl Closes for Shop {
    #[distributed_lock("k", manager = self.locks, guard = lock)]
    async fn close_it(
        self: Box<Self>,
        log: Log,
        end: End,
        _: Argument,
        (left, _): (Argument, Argument),
    ) -> Result<(), Error> {
        let _left = left;
        log.watch(&lock);
        end.come().await
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_of_functions_are_dropped_before_the_release() {
    for end in End::ALL {
        let (log, locks) = (Log::default(), LockManager::in_process());
        let argument = |name| log.argument(name);
        finish(plain(
            locks.clone(),
            log.clone(),
            end,
            argument("unused"),
            argument("wild"),
            Wrapped(argument("inside")),
            (argument("left"), argument("right")),
        ))
        .await;
        log.assert_dropped_under_the_lock(&["inside", "left", "local", "right", "unused", "wild"]);

        let log = Log::default();
        finish(to_the_end(locks, log.clone(), end, log.argument("wild"))).await;
        log.assert_dropped_under_the_lock(&["wild"]);
    }
}

#[tokio::test(start_paused = true)]
async fn argument_parts_that_no_pattern_binds_are_dropped_after_the_release() {
    let (log, locks) = (Log::default(), LockManager::in_process());
    let pair = (log.argument("left"), log.argument("rest"));
    finish(with_a_rest(locks.clone(), log.clone(), pair)).await;
    let drops = |log: &Log| log.0.lock().unwrap().drops.clone();
    assert_eq!(drops(&log), [("left", true), ("rest", false)]);

    let log = Log::default();
    let inside = |name| Wrapped(log.argument(name));
    let call = with_nothing_of_a_struct(locks, log.clone(), inside("rest"), inside("named"));
    finish(call).await;
    assert_eq!(drops(&log), [("named", true), ("rest", false)]);
}

#[tokio::test(start_paused = true)]
async fn arguments_of_instrumented_functions_are_dropped_before_the_release() {
    for end in End::ALL {
        let (log, locks) = (Log::default(), LockManager::in_process());
        let (unused, wild) = (log.argument("unused"), log.argument("wild"));
        finish(instrumented_below(
            locks.clone(),
            log.clone(),
            end,
            unused,
            wild,
        ))
        .await;
        log.assert_dropped_under_the_lock(&["unused", "wild"]);

        let log = Log::default();
        let (unused, wild) = (log.argument("unused"), log.argument("wild"));
        finish(instrumented_above(locks, log.clone(), end, unused, wild)).await;
        log.assert_dropped_under_the_lock(&["unused", "wild"]);
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_of_methods_and_self_are_dropped_before_the_release() {
    for end in End::ALL {
        let (log, locks) = (Log::default(), LockManager::in_process());
        let shop = |log: &Log| Shop {
            locks: locks.clone(),
            _argument: log.argument("self"),
        };
        finish(shop(&log).close(log.clone(), end)).await;
        log.assert_dropped_under_the_lock(&["self"]);

        let log = Log::default();
        let pair = (log.argument("left"), log.argument("right"));
        let closing = Box::new(shop(&log)).close_it(log.clone(), end, log.argument("wild"), pair);
        finish(closing).await;
        log.assert_dropped_under_the_lock(&["left", "right", "self", "wild"]);
    }
}
