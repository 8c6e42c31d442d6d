use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use leasehold::kind::{Fenced, Releasable};
use leasehold::{Error, LockGuard, LockManager, ReentrancyScope};
use leasehold_testkit::history::Mode;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::cancel::dropped_after;
use super::holders::Holders;
use super::tally::Tally;

const KEYS: u32 = 64;
const POOLS: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(10);

/// When a task ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    Begun(u64),
    Past(Instant),
}

/// One task of the load.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) locks: LockManager,
    pub(super) holders: Arc<Holders>,
    pub(super) tally: Arc<Tally>,
    pub(super) cancelled: f64,
    pub(super) until: Until,
}

impl Load {
    /// Acquires, holds and releases, until the end.
    pub(super) async fn run(self, mut chance: Rng) {
        while self.goes_on() {
            self.once(&mut chance).await;
        }
    }

    /// Like [`run`](Self::run) with one key, which is held for longer than its TTL.
    pub(super) async fn hold_long(self, key: String) {
        while self.goes_on() {
            let lock = self.locks.lock(&key).ttl(Duration::from_secs(1));
            let Some(guard) = self.taken(None, lock.wait(PATIENCE).acquire()).await else {
                continue;
            };
            if guard
                .run(async |_| {
                    sleep(Duration::from_millis(1500)).await;
                    Ok::<_, Error>(())
                })
                .await
                .is_ok()
            {
                self.release(guard).await;
            } else {
                self.tally.lost();
            }
        }
    }

    fn goes_on(&self) -> bool {
        match self.until {
            Until::Begun(number) => self.tally.begin(number),
            Until::Past(moment) => Instant::now() < moment && self.tally.begin(u64::MAX),
        }
    }

    async fn once(&self, chance: &mut Rng) {
        let key = format!("k{}", chance.u32(..KEYS));
        let polls = self.to_cancel().then(|| chance.u32(1..=6));
        match chance.u32(..100) {
            0..60 => self.alone(&key, polls, chance).await,
            60..70 => self.reader(&key, polls, chance).await,
            70..80 => self.permits(polls, chance).await,
            80..88 => self.several(polls, chance).await,
            88..94 => self.nested(&key, polls, chance).await,
            94..97 => self.handed_over(&key, polls, chance).await,
            _ => self.downgraded(&key, polls, chance).await,
        }
    }

    /// Returns whether too few acquires have been cancelled so far.
    fn to_cancel(&self) -> bool {
        let counts = self.tally.counts();
        (counts.cancelled as f64) < counts.begun as f64 * self.cancelled
    }

    /// Acquires, or drops the acquire after some polls.
    async fn taken<G>(
        &self,
        polls: Option<u32>,
        acquire: impl Future<Output = Result<G, Error>>,
    ) -> Option<G> {
        let done = match polls {
            Some(polls) => dropped_after(polls, acquire).await,
            None => Some(acquire.await),
        };
        match done {
            Some(Ok(guard)) => {
                self.tally.acquired();
                return Some(guard);
            }
            None => self.tally.cancelled(),
            Some(Err(Error::TimedOut { .. })) => self.tally.timed_out(),
            Some(Err(_)) => self.tally.failed(),
        }
        None
    }

    async fn alone(&self, key: &str, polls: Option<u32>, chance: &mut Rng) {
        let acquire = self.locks.lock(key).wait(PATIENCE).acquire();
        if let Some(guard) = self.taken(polls, acquire).await {
            self.work_in(Mode::Exclusive, &guard, chance).await;
            self.end(guard, chance).await;
        }
    }

    async fn reader(&self, key: &str, polls: Option<u32>, chance: &mut Rng) {
        let acquire = self.locks.rw_lock(key).read().wait(PATIENCE).acquire();
        if let Some(guard) = self.taken(polls, acquire).await {
            self.work_in(Mode::Shared, &guard, chance).await;
            self.end(guard, chance).await;
        }
    }

    async fn permits(&self, polls: Option<u32>, chance: &mut Rng) {
        let pool = format!("pool{}", chance.u32(..POOLS));
        let semaphore = self.locks.semaphore(&pool, 3).wait(PATIENCE);
        let acquire = semaphore.acquire_many(chance.u32(1..=3));
        if let Some(guard) = self.taken(polls, acquire).await {
            work(chance).await;
            self.end(guard, chance).await;
        }
    }

    async fn several(&self, polls: Option<u32>, chance: &mut Rng) {
        let keys: Vec<String> = (0..3).map(|_| format!("k{}", chance.u32(..KEYS))).collect();
        let acquire = self.locks.lock_all(&keys).wait(PATIENCE).acquire();
        let Some(guard) = self.taken(polls, Box::pin(acquire)).await else {
            return;
        };
        let handles = guard.handle();
        for handle in handles.handles() {
            let (token, its_own) = (handle.token(), handle.clone());
            let valid = move || its_own.is_valid();
            self.holders
                .enter(handle.key(), Mode::Exclusive, token, valid, &self.tally);
        }
        work(chance).await;
        for handle in handles.handles() {
            self.holders.leave(handle.key(), handle.token());
        }
        match guard.release().await {
            Ok(()) => {}
            Err(error) if error.is_lost() => self.tally.lost(),
            Err(_) => self.tally.failed(),
        }
    }

    async fn nested(&self, key: &str, polls: Option<u32>, chance: &mut Rng) {
        let owner = ReentrancyScope::new();
        let lock = self.locks.lock(key).reentrant(&owner).wait(PATIENCE);
        let Some(outer) = self.taken(polls, lock.clone().acquire()).await else {
            return;
        };
        self.enter(Mode::Exclusive, &outer);
        // Shares the outer lock, or acquires it again if it was lost.
        match lock.acquire().await {
            Ok(inner) => drop(inner),
            Err(_) => self.tally.failed(),
        }
        work(chance).await;
        self.holders.leave(outer.key(), outer.token());
        match outer.release().await {
            Ok(_) => {}
            Err(error) if error.is_lost() => self.tally.lost(),
            Err(_) => self.tally.failed(),
        }
    }

    async fn handed_over(&self, key: &str, polls: Option<u32>, chance: &mut Rng) {
        let acquire = self.locks.lock(key).wait(PATIENCE).acquire();
        let Some(guard) = self.taken(polls, acquire).await else {
            return;
        };
        self.work_in(Mode::Exclusive, &guard, chance).await;
        let Ok(ticket) = guard.hand_over().await else {
            return self.tally.failed();
        };
        match self.locks.accept(&ticket).await {
            Ok(guard) => {
                self.work_in(Mode::Exclusive, &guard, chance).await;
                self.end(guard, chance).await;
            }
            Err(_) => self.tally.failed(),
        }
    }

    async fn downgraded(&self, key: &str, polls: Option<u32>, chance: &mut Rng) {
        let acquire = self.locks.lock(key).wait(PATIENCE).acquire();
        let Some(guard) = self.taken(polls, acquire).await else {
            return;
        };
        self.work_in(Mode::Exclusive, &guard, chance).await;
        match guard.downgrade().await {
            Ok(reader) => {
                self.work_in(Mode::Shared, &reader, chance).await;
                self.end(reader, chance).await;
            }
            Err(_) => self.tally.failed(),
        }
    }

    async fn work_in<K: Fenced + 'static>(
        &self,
        mode: Mode,
        guard: &LockGuard<K>,
        chance: &mut Rng,
    ) {
        self.enter(mode, guard);
        work(chance).await;
        self.holders.leave(guard.key(), guard.token());
    }

    fn enter<K: Fenced + 'static>(&self, mode: Mode, guard: &LockGuard<K>) {
        let handle = guard.handle();
        let valid = move || handle.is_valid();
        self.holders
            .enter(guard.key(), mode, guard.token(), valid, &self.tally);
    }

    /// Releases a guard, and drops one in eight guards instead.
    async fn end<K: Releasable>(&self, guard: LockGuard<K>, chance: &mut Rng) {
        if chance.u32(..8) == 0 {
            drop(guard);
        } else {
            self.release(guard).await;
        }
    }

    async fn release<K: Releasable>(&self, guard: LockGuard<K>) {
        match guard.release().await {
            Ok(()) => {}
            Err(error) if error.is_lost() => self.tally.lost(),
            Err(_) => self.tally.failed(),
        }
    }
}

/// The work under a lock. It is usually empty, because the test loads the locks.
async fn work(chance: &mut Rng) {
    if chance.u32(..50) == 0 {
        sleep(Duration::from_millis(1)).await;
    } else {
        yield_now().await;
    }
}
