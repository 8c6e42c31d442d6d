//! A subscriber that panics costs nobody a lock.
//!
//! One test, in a binary of its own: `tracing` remembers per process who is interested in what.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{self, Wake, Waker};
use std::time::Duration;

use leasehold::{LockGuard, LockManager};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;
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
        assert!(renewals > 5, "{renewals} renewals");
    }
    assert_eq!(told("leasehold.lost", 1, a_loss_is_told), 1);
}

async fn for_longer_than_a_lease() {
    sleep(TTL * 2).await;
}

async fn all_are_renewed() {
    let locks = LockManager::in_process();
    let one = locks.lock("one").acquire().await.unwrap();
    let two = locks.lock("two").acquire().await.unwrap();
    for_longer_than_a_lease().await;
    assert!([&one, &two].into_iter().all(LockGuard::is_valid));
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn a_loss_is_told(runtime: &Runtime) {
    let locks = LockManager::in_process();
    let lock = locks.lock("k").ttl(TTL).without_renewal();
    let guard = runtime.block_on(lock.acquire()).unwrap();
    // Outside of the runtime it has no timer, and is told by the watchdog alone.
    let mut lost = pin!(guard.lost());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = task::Context::from_waker(&waker);
    assert!(lost.as_mut().poll(&mut context).is_pending());
    runtime.block_on(for_longer_than_a_lease());
    assert!(woken.0.load(Ordering::Relaxed));
}
