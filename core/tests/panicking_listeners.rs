//! Who panics when it is told costs nobody a lock.
//!
//! One test, in a binary of its own: `tracing` remembers per process who is interested in what.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// Panics over the first events of a name.
struct Clumsy {
    over: &'static str,
    times: usize,
    heard: Arc<AtomicUsize>,
}

impl<S: Subscriber> Layer<S> for Clumsy {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if event.metadata().name() != self.over {
            return;
        }
        if self.heard.fetch_add(1, Ordering::Relaxed) < self.times {
            panic!("a bug in a subscriber, over {}", self.over);
        }
    }
}

/// Runs `life` before a subscriber that panics; says how often that was told of it.
fn told(over: &'static str, times: usize, life: impl FnOnce(&Runtime)) -> usize {
    let heard = Arc::new(AtomicUsize::new(0));
    let clumsy = Clumsy {
        over,
        times,
        heard: Arc::clone(&heard),
    };
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let subscriber = tracing_subscriber::registry().with(clumsy);
    tracing::subscriber::with_default(subscriber, || life(&runtime));
    heard.load(Ordering::Relaxed)
}

#[test]
fn who_panics_when_told_costs_nobody_a_lock_and_keeps_no_loss_from_others() {
    for times in [1, usize::MAX] {
        let renewals = told("leasehold.renewed", times, |runtime| {
            runtime.block_on(all_are_renewed());
        });
        assert!(renewals > MANY * 5, "{renewals} renewals");
    }
    assert_eq!(told("leasehold.lost", 1, a_loss_is_told), 1);
    for (command, over) in [
        (Command::Release, "leasehold.release_failed"),
        (Command::Cleanup, "leasehold.cleanup_failed"),
    ] {
        let failures = told(over, usize::MAX, |runtime| {
            runtime.block_on(what_fails_is_repeated(command));
        });
        assert_eq!(failures, 1, "{over}");
    }
    told("nothing", 0, a_waker_panics);
}

async fn for_longer_than_a_lease() {
    sleep(TTL * 2).await;
}

/// More than are renewed together.
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
    // A release is given up, or an attempt in the midst of it.
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

/// Outside of the runtime it has no timer, and is told by the watchdog alone.
fn waits_for_the_loss(waker: &Waker, lost: Pin<&mut impl Future>) {
    let mut context = task::Context::from_waker(waker);
    assert!(lost.poll(&mut context).is_pending());
}

fn a_loss_is_told(runtime: &Runtime) {
    let locks = LockManager::in_process();
    let lock = locks.lock("k").ttl(TTL).without_renewal();
    let guard = runtime.block_on(lock.acquire()).unwrap();
    let (woken, mut lost) = (Arc::new(Woken::default()), pin!(guard.lost()));
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
    let mut losses: Vec<_> = end.iter().map(|guard| Box::pin(guard.lost())).collect();
    for lost in &mut losses {
        waits_for_the_loss(&waker, lost.as_mut());
    }
    runtime.block_on(async {
        // As after a pause all are looked at together, those that end and those that are to be renewed.
        advance(TTL / 2).await;
        for_longer_than_a_lease().await;
    });
    assert!(!end.iter().any(LockGuard::is_valid));
    assert!(stay.iter().all(LockGuard::is_valid));
}
