//! A client of a run: its future, and the faults that happen at its awaits.

use std::fmt::Write;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;

use super::fault_case::{Fault, Place, Point};
use super::one_run::{Process, Run};
use super::wake_ordered_future::Settled;
use leasehold_core::LockManager;
use leasehold_core::backend::Backend;
use leasehold_core::backend::support::clock::{LeaseInstant, sleep_until};
use leasehold_core::chaos_support::{LockSites, ValidLease, noting};

/// How long a client is paused that holds no lock.
const PAUSE: Duration = Duration::from_secs(60);

/// The future of one client. Returns `None` if the client was cancelled.
pub(super) struct Client<F> {
    process: Arc<Process>,
    locks: LockManager,
    body: Settled<F>,
    sites: LockSites,
    awaits: u32,
    /// The tokens and keys of the locks that the client holds.
    held: Vec<(i64, String)>,
    /// The description of the last lock, and the number of its first await.
    last_lock: Option<(String, u32)>,
    pause: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl<F: Future> Client<F> {
    pub(super) fn new(process: Arc<Process>, locks: LockManager, body: F) -> Self {
        let body = Settled::new(body, &process.run.outside);
        Self {
            process,
            locks,
            body,
            sites: LockSites::default(),
            awaits: 0,
            held: Vec::new(),
            last_lock: None,
            pause: None,
        }
    }

    fn run(&self) -> &Run {
        &self.process.run
    }

    fn note(&self, event: &str) {
        self.run().note(self.process.client, event);
    }

    /// Notes the locks that the client has acquired or lost since the last call.
    fn observe(&mut self) {
        let name = |lease: &ValidLease| {
            let claim = lease.claim();
            (claim.token.get(), claim.key.name().to_owned())
        };
        let held: Vec<_> = ValidLease::all(&self.locks).iter().map(name).collect();
        for (_, key) in self.held.iter().filter(|it| !held.contains(it)) {
            self.note(&format!("no longer holds {key}"));
        }
        let before = std::mem::take(&mut self.held);
        for (token, key) in held.iter().filter(|it| !before.contains(it)) {
            let mut lock = key.clone();
            if let Some(site) = self.sites.borrow().get(key) {
                // Writing to a string cannot fail.
                let _written = write!(lock, " at {site}");
            }
            self.note(&format!("holds {lock}, token {token}"));
            self.last_lock = Some((lock, self.awaits));
        }
        self.held = held;
    }

    fn describe(&self) -> String {
        let mut text = format!("await {} of client {}", self.awaits, self.process.client);
        if let Some((lock, first)) = &self.last_lock {
            let after = self.awaits - first + 1;
            let _written = write!(text, ", await {after} after it locked {lock}");
        }
        text
    }

    /// Ends all locks of the client, in the backend and in its process. Returns the longest TTL.
    fn lose_locks(&mut self) -> Option<Duration> {
        let leases = ValidLease::all(&self.locks);
        for lease in &leases {
            let (key, holder) = (&lease.claim().key, lease.claim().owner.to_string());
            let backend = &self.run().backend;
            let _freed = backend.force_release_holder(key, &holder).now_or_never();
            lease.expire();
        }
        self.observe();
        leases.iter().map(|it| it.claim().ttl).max()
    }

    /// Pauses the process. The leases end at the beginning of the pause, so that the other clients need not wait for
    /// their expiry. The paused client sees the same as after a longer pause.
    fn pause(&mut self) {
        let pause = self.lose_locks().map_or(PAUSE, |ttl| PAUSE.max(ttl * 2));
        let end = LeaseInstant::now().after(pause);
        *self.process.paused_until.lock() = Some(end);
        self.pause = Some(Box::pin(sleep_until(end)));
    }
}

impl<F: Future> Future for Client<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(pause) = &mut this.pause {
            std::task::ready!(pause.as_mut().poll(context));
            this.pause = None;
            this.note("continues");
        } else if this.body.is_woken(context) && this.awaits > 0 {
            this.observe();
            let point = Point {
                client: this.process.client,
                place: Place::Await(this.awaits),
                holds: !this.held.is_empty(),
            };
            match this.run().pass(point, || this.describe()) {
                Some(Fault::Cancelled) => return Poll::Ready(None),
                Some(Fault::Paused) => {
                    this.pause();
                    return self.poll(context);
                }
                Some(_lost) => {
                    this.lose_locks();
                }
                None => {}
            }
        }
        if !this.body.is_woken(context) {
            return Poll::Pending;
        }
        this.awaits += 1;
        let (sites, body) = (this.sites.clone(), &mut this.body);
        let polled = noting(&sites, || Pin::new(body).poll(context));
        this.observe();
        if polled.is_ready() {
            this.note("ends");
        }
        polled.map(Some)
    }
}
