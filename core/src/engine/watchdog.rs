use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::Lease;
use super::background::Backlog;
use super::call::caught;
use super::renew::{batches, renew_batch};
use super::rota::Rota;
use super::schedule::{self, Beat, Step};
use crate::OwnerId;
use crate::backend::Backend;
use crate::clock::{self, Moment};
use crate::options::Limits;
use crate::runtime::{Runtime, sleep};

const BETWEEN_INTERRUPTIONS: Duration = Duration::from_millis(100);

/// The one task that renews a manager's leases, and ends those that cannot be renewed.
#[derive(Debug)]
pub(super) struct Watchdog {
    desk: Arc<Desk>,
    task: JoinHandle<()>,
}

/// What is watched, and when.
#[derive(Debug)]
pub(super) struct Desk {
    beat: Beat,
    rota: Mutex<Rota>,
    changed: Notify,
}

impl Watchdog {
    pub(super) fn start(
        runtime: &Runtime,
        backend: Arc<dyn Backend>,
        backlog: Arc<Backlog>,
        limits: Limits,
    ) -> Self {
        // Where the runtime has no timers, this says so to who acquires, in place of a task that nobody looks at.
        drop(sleep(Duration::ZERO));
        let desk = Arc::new(Desk {
            beat: Beat::begin(),
            rota: Mutex::default(),
            changed: Notify::new(),
        });
        let watch = keep_watch(Arc::clone(&desk), backend, backlog, limits);
        let task = runtime.spawn(watch);
        Self { desk, task }
    }

    /// False once its runtime is gone.
    pub(super) fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }

    pub(super) fn desk(&self) -> Arc<Desk> {
        Arc::clone(&self.desk)
    }

    pub(super) fn unwatch(&self, owner: OwnerId) {
        self.desk.rota.lock().remove(owner);
    }

    pub(super) fn leases(&self) -> Vec<Arc<Lease>> {
        self.desk.rota.lock().leases()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Watches for as long as the runtime lives. Who waits for the end of a lease may panic when it is woken, and a backend when
/// it is asked where a key is: that must not take the renewals of all others along.
async fn keep_watch(
    desk: Arc<Desk>,
    backend: Arc<dyn Backend>,
    backlog: Arc<Backlog>,
    limits: Limits,
) {
    // It outlives a panic, or each would be followed by an interruption that was seen before.
    let mut seen = 0;
    loop {
        let watching = async {
            tokio::select! {
                () = watch(&desk, &backend, limits, &mut seen) => Ok(()),
                never = backlog.keep_adopting() => match never {},
            }
        };
        let _panicked = caught(watching).await;
        // Where every look panics, others have their turn in between.
        tokio::task::yield_now().await;
    }
}

async fn watch(desk: &Desk, backend: &Arc<dyn Backend>, limits: Limits, seen: &mut u64) {
    desk.resume();
    let mut under_way = FuturesUnordered::new();
    let mut interruption = pin!(interrupted(&**backend, *seen));
    loop {
        for batch in batches(|key| backend.server_of(key), desk.due_for_renewal()) {
            under_way.push(renew_batch(batch, Arc::clone(backend), limits, desk.beat));
        }
        let alarm = desk.rota.lock().set_alarm(Moment::now());
        tokio::select! {
            () = clock::at(alarm) => {}
            () = desk.changed.notified() => {}
            count = &mut interruption => {
                *seen = count.max(*seen + 1);
                interruption.set(interrupted(&**backend, *seen));
                desk.rota.lock().hasten(Moment::now());
            }
            Some(looks) = under_way.next() => {
                let mut rota = desk.rota.lock();
                for (lease, look) in looks {
                    rota.put_back(lease.claim.owner, look);
                }
            }
        }
    }
}

impl Desk {
    pub(super) fn watch(&self, lease: &Arc<Lease>, now: Moment) {
        let first_look = self.beat.after_success(lease, now);
        if self.rota.lock().add(lease, first_look) {
            self.changed.notify_one();
        }
    }

    /// Goes on with what was under way when a panic ended it, at the pace of renewals that fail.
    fn resume(&self) {
        let taken = self.rota.lock().taken();
        for lease in taken {
            let look = schedule::after_failure(&lease);
            self.rota.lock().put_back(lease.claim.owner, look);
        }
    }

    fn due_for_renewal(&self) -> Vec<Arc<Lease>> {
        let mut due = self.rota.lock().take_due(Moment::now());
        due.retain(|lease| {
            let owner = lease.claim.owner;
            match schedule::step(lease) {
                Step::Renew => return true,
                Step::LookAgain(at) => self.rota.lock().put_back(owner, at),
                Step::Forget => self.rota.lock().forget(lease),
            }
            false
        });
        due
    }
}

/// A backend that panics here has nothing more to say, and one that never stops is not listened to all the time.
async fn interrupted(backend: &dyn Backend, seen: u64) -> u64 {
    if seen > 0 {
        clock::sleep_until(Moment::now().after(BETWEEN_INTERRUPTIONS)).await;
    }
    let count = caught(async { Ok(backend.interrupted(seen).await) }).await;
    match count {
        Ok(count) => count,
        Err(_panicked) => pending().await,
    }
}
