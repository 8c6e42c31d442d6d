//! Code of the user that the library calls: subscribers, recorders and wakers.
//!
//! This file has only one test, because `tracing` caches per process which subscribers are interested in an event.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{self, Wake, Waker};
use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{LockGuard, LockManager};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{advance, sleep, timeout};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

const TTL: Duration = Duration::from_secs(30);

/// Runs a closure at each event with a name.
struct Listener<F> {
    to: &'static str,
    does: F,
    heard: Arc<AtomicUsize>,
}

impl<S: Subscriber, F: Fn(usize) + 'static> Layer<S> for Listener<F> {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if event.metadata().name() == self.to {
            (self.does)(self.heard.fetch_add(1, Ordering::Relaxed));
        }
    }
}

/// Runs `life` with a subscriber that calls a closure. Returns how often the subscriber got the event.
fn told(
    to: &'static str,
    does: impl Fn(usize) + Send + Sync + 'static,
    life: impl FnOnce(&Runtime),
) -> usize {
    let heard = Arc::new(AtomicUsize::new(0));
    let listener = Listener {
        to,
        does,
        heard: Arc::clone(&heard),
    };
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let subscriber = tracing_subscriber::registry().with(listener);
    tracing::subscriber::with_default(subscriber, || life(&runtime));
    heard.load(Ordering::Relaxed)
}

fn panics_over_the_first(events: usize) -> impl Fn(usize) {
    move |before| assert!(before >= events, "a bug in a subscriber")
}

#[test]
fn panicking_subscribers_and_wakers_end_no_lock_and_hide_no_loss() {
    for events in [1, usize::MAX] {
        let panics = panics_over_the_first(events);
        let renewals = told("leasehold.renewed", panics, |runtime| {
            runtime.block_on(all_are_renewed());
        });
        assert!(renewals > MANY * 5, "{renewals} renewals");
    }
    let panics = panics_over_the_first(1);
    assert_eq!(told("leasehold.lost", panics, a_loss_is_told), 1);
    for (command, to) in [
        (Command::Release, "leasehold.release_failed"),
        (Command::Cleanup, "leasehold.cleanup_failed"),
    ] {
        let failures = told(to, panics_over_the_first(usize::MAX), |runtime| {
            runtime.block_on(what_fails_is_repeated(command));
        });
        assert_eq!(failures, 1, "{to}");
    }
    told("nothing", |_before| (), a_waker_panics);
    another_guard_is_dropped();
}

async fn for_longer_than_a_lease() {
    sleep(TTL * 2).await;
}

/// More leases than one batch renews.
const MANY: usize = 300;

async fn all_are_renewed() {
    let locks = LockManager::in_process();
    let mut guards = Vec::new();
    for n in 0..MANY {
        guards.push(locks.lock(n.to_string()).acquire().await.unwrap());
    }
    for_longer_than_a_lease().await;
    assert!(guards.iter().all(LockGuard::is_valid));
}

async fn what_fails_is_repeated(command: Command) {
    let (world, mut failed) = (InProcess::new(), false);
    let backend = Faulty::new(world.clone(), move |call| match call.command {
        it if it == command && !failed => {
            failed = true;
            Fault::Fail
        }
        Command::Attempt if command == Command::Cleanup => Fault::SlowAnswer(TTL / 60),
        _ => Fault::None,
    });
    let locks = LockManager::new(backend);
    // Time out during a release, or during an attempt.
    drop(timeout(TTL / 120, locks.lock("k").acquire()).await);
    sleep(TTL / 10).await;
    let others = LockManager::new(world).lock("k").try_acquire().await;
    assert!(others.unwrap().is_some());
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls once outside of the runtime. Such a future does not have a timer, so only the watchdog wakes it.
fn waits_for_the_loss(waker: &Waker, lost: Pin<&mut impl Future>) {
    let mut context = task::Context::from_waker(waker);
    assert!(lost.poll(&mut context).is_pending());
}

fn a_loss_is_told(runtime: &Runtime) {
    let locks = LockManager::in_process();
    let lock = locks.lock("k").ttl(TTL).without_renewal();
    let guard = runtime.block_on(lock.acquire()).unwrap();
    let (woken, mut lost) = (Arc::new(Woken::default()), pin!(guard.ended()));
    waits_for_the_loss(&Waker::from(Arc::clone(&woken)), lost.as_mut());
    runtime.block_on(for_longer_than_a_lease());
    assert!(woken.0.load(Ordering::Relaxed));
}

struct Clumsily;

impl Wake for Clumsily {
    fn wake(self: Arc<Self>) {
        panic!("a bug in an executor");
    }
}

fn a_waker_panics(runtime: &Runtime) {
    let locks = LockManager::in_process();
    let waker = Waker::from(Arc::new(Clumsily));
    let (mut end, mut stay) = (Vec::new(), Vec::new());
    for n in 0..3 {
        let lock = locks.lock(format!("ends {n}")).max_hold(TTL / 3);
        end.push(runtime.block_on(lock.acquire()).unwrap());
        let lock = locks.lock(format!("stays {n}"));
        stay.push(runtime.block_on(lock.acquire()).unwrap());
    }
    let mut losses: Vec<_> = end.iter().map(|guard| Box::pin(guard.ended())).collect();
    for lost in &mut losses {
        waits_for_the_loss(&waker, lost.as_mut());
    }
    runtime.block_on(async {
        // After a pause, all leases are checked together: the ended ones and those that must be renewed.
        advance(TTL / 2).await;
        for_longer_than_a_lease().await;
    });
    assert!(!end.iter().any(LockGuard::is_valid));
    assert!(stay.iter().all(LockGuard::is_valid));
}

fn another_guard_is_dropped() {
    let other = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&other);
    let drops = move |_before| drop(theirs.lock().unwrap().take());
    let losses = told("leasehold.lost", drops, |runtime| {
        runtime.block_on(a_lock_is_over_when_it_is_granted(&other));
    });
    assert_eq!(losses, 1);
}

async fn a_lock_is_over_when_it_is_granted(other: &Mutex<Option<LockGuard>>) {
    let backend = Faulty::new(InProcess::new(), |call| match call.command {
        Command::Attempt => Fault::SlowAnswer(TTL / 30),
        _ => Fault::None,
    });
    let locks = LockManager::new(backend);
    let guard = locks.lock("other").acquire().await.unwrap();
    *other.lock().unwrap() = Some(guard);
    let lock = locks.lock("k").ttl(TTL).max_hold(TTL / 100);
    assert!(!lock.acquire().await.unwrap().is_valid());
    assert!(other.lock().unwrap().is_none());
}
