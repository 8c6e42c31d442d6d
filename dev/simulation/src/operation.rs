//! The operations of a task on a lock.

use std::time::Duration;

use fastrand::Rng;
use leasehold::kind::{Kind, Releasable};
use leasehold::{Error, Lock, LockGuard, LockManager};
use leasehold_testkit::history::Mode;
use tokio::time::sleep;

use crate::campaign::{ELECTION, campaign};
use crate::clock;
use crate::history::Who;
use crate::poll_limit::poll_at_most;
use crate::shared::Shared;

/// The number of permits.
const PERMITS: u32 = 2;

/// The maximum number of polls of a future that is dropped early.
const POLLS: u32 = 9;

/// The longest time of a campaign.
const MOST_PATIENCE: Duration = Duration::from_secs(10);

/// The longest requested TTL.
pub(crate) const LONGEST_TTL: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Operation {
    key: &'static str,
    mode: Mode,
    ttl: Duration,
    /// `None` waits forever.
    wait: Option<Duration>,
    is_renewed: bool,
    keep: Duration,
    acquire_polls: u32,
    end: End,
}

/// How a holder ends the held lock.
#[derive(Debug, Clone, Copy)]
enum End {
    Release,
    ReleaseCut(u32),
    Drop,
}

impl Operation {
    pub(crate) fn by_chance(random: &mut Rng) -> Self {
        let (key, mode) = match random.u32(0..20) {
            0..10 => ("a", Mode::Exclusive),
            10..12 => ("b", Mode::Exclusive),
            12 => (ELECTION, Mode::Exclusive),
            13..15 => ("c", Mode::Exclusive),
            15..18 => ("c", Mode::Shared),
            _ => (
                "slots",
                Mode::Permits {
                    count: 1,
                    of: PERMITS,
                },
            ),
        };
        let millis = Duration::from_millis;
        let ttls = [millis(500), millis(1000), LONGEST_TTL];
        let waits = [
            Some(Duration::ZERO),
            Some(millis(300)),
            Some(millis(2000)),
            None,
        ];
        Self {
            key,
            mode,
            ttl: ttls[random.usize(0..ttls.len())],
            wait: waits[random.usize(0..waits.len())],
            is_renewed: random.u32(0..10) < 6,
            keep: millis(match random.u32(0..10) {
                0..6 => random.u64(0..60),
                6..9 => random.u64(0..600),
                _ => random.u64(0..2000),
            }),
            acquire_polls: match random.u32(0..8) {
                0 => random.u32(1..POLLS),
                _ => u32::MAX,
            },
            end: match random.u32(0..10) {
                0..5 => End::Release,
                5..7 => End::ReleaseCut(random.u32(1..4)),
                _ => End::Drop,
            },
        }
    }

    /// Creates one of many concurrent operations. It is short, so that locks are handed off between tasks of a process.
    pub(crate) fn brief(random: &mut Rng, key: &'static str) -> Self {
        let millis = Duration::from_millis;
        Self {
            key,
            mode: Mode::Exclusive,
            ttl: LONGEST_TTL,
            wait: Some(millis(2000)),
            is_renewed: true,
            keep: millis(match random.u32(0..8) {
                0 => random.u64(0..400),
                _ => random.u64(0..4),
            }),
            ..Self::by_chance(random)
        }
    }

    pub(crate) async fn run(&self, shared: &Shared, locks: &LockManager, who: Who) {
        match self.mode {
            Mode::Exclusive if self.key == ELECTION => {
                let patience = self.wait.unwrap_or(MOST_PATIENCE);
                let (ttl, work) = (self.ttl, self.keep);
                campaign(shared, locks, who, (ttl, patience, work)).await;
            }
            Mode::Exclusive => {
                let token = |guard: &LockGuard| Some(guard.token().get());
                self.take(shared, who, locks.lock(self.key), token).await;
            }
            Mode::Shared => {
                let token = |guard: &LockGuard<_>| Some(guard.token().get());
                self.take(shared, who, locks.rw_lock(self.key).read(), token)
                    .await;
            }
            Mode::Permits { .. } => {
                let lock = locks.semaphore(self.key, PERMITS);
                self.take(shared, who, lock, |_| None).await;
            }
        }
    }

    async fn take<K: Releasable>(
        &self,
        shared: &Shared,
        who: Who,
        lock: Lock<K>,
        token: impl Fn(&LockGuard<K>) -> Option<i64>,
    ) {
        let asked = clock::now();
        let Self {
            key,
            mode,
            ttl,
            wait,
            ..
        } = *self;
        shared.note(
            who,
            format_args!("asks for {key} {mode:?} {ttl:?} {wait:?}"),
        );
        let acquired = poll_at_most(self.acquire_polls, self.acquire(lock)).await;
        let guard = match acquired {
            None => {
                shared.history.borrow_mut().counts.cut += 1;
                return shared.note(who, "is cut");
            }
            Some(Err(Error::TimedOut { .. })) | Some(Ok(None)) => {
                shared.history.borrow_mut().counts.busy += 1;
                return shared.note(who, "finds it busy");
            }
            Some(Err(error)) => {
                shared.history.borrow_mut().counts.failed += 1;
                return shared.note(who, format_args!("fails: {error}"));
            }
            Some(Ok(Some(guard))) => guard,
        };
        let token = token(&guard);
        shared.note(who, format_args!("has {key} under {token:?}"));
        let (held, now) = ((key, mode, token), clock::now());
        let hold = shared.history.borrow_mut().begin(who, held, asked, now);
        self.keep(shared, who, &guard).await;
        shared.history.borrow_mut().end(hold, clock::now());
        self.end(shared, who, guard).await;
    }

    async fn acquire<K: Kind>(&self, lock: Lock<K>) -> Result<Option<LockGuard<K>>, Error> {
        let lock = lock.ttl(self.ttl);
        let lock = match self.is_renewed {
            true => lock,
            false => lock.without_renewal(),
        };
        match self.wait {
            Some(Duration::ZERO) => lock.try_acquire().await,
            Some(wait) => lock.wait(wait).acquire().await.map(Some),
            None => lock.acquire().await.map(Some),
        }
    }

    /// Holds the lock until the work is done or the lock is lost.
    async fn keep<K: Kind>(&self, shared: &Shared, who: Who, guard: &LockGuard<K>) {
        tokio::select! {
            biased;
            lost = guard.ended() => {
                shared.history.borrow_mut().counts.lost += 1;
                shared.note(who, format_args!("has lost it: {:?}", lost.reason));
            }
            () = sleep(self.keep) => {}
        }
    }

    async fn end<K: Releasable>(&self, shared: &Shared, who: Who, guard: LockGuard<K>) {
        match self.end {
            End::Drop => {
                drop(guard);
                shared.note(who, "drops it");
            }
            End::Release => {
                let end = guard.release().await;
                shared.history.borrow_mut().counts.failed += u64::from(end.is_err());
                shared.note(who, format_args!("releases it: {end:?}"));
            }
            End::ReleaseCut(polls) => {
                let end = poll_at_most(polls, guard.release()).await;
                shared.history.borrow_mut().counts.cut += u64::from(end.is_none());
                shared.note(who, format_args!("begins to release it: {end:?}"));
            }
        }
    }
}
