//! Random histories of scopes that share locks, compared with a simple count of the holders.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use futures_util::FutureExt;
use leasehold::kind::Reentrant;
use leasehold::{
    EndReason, Error, FencingToken, LockGuard, LockManager, ReentrancyScope,
    ReentrantRelease as Outcome,
};
use leasehold_testkit::depth;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tokio::runtime::Builder;
use tokio::time::sleep;

/// The number of histories in `cargo test`.
const CASES: u64 = 500;

const SCOPES: usize = 3;
const KEYS: usize = 2;

#[derive(Debug, Clone, Copy)]
enum Action {
    Acquire {
        scope: usize,
        key: usize,
    },
    /// An acquire that is polled once and then dropped.
    Cancel {
        scope: usize,
        key: usize,
    },
    /// A non-reentrant acquire of a task in the scope.
    Plain {
        scope: usize,
        key: usize,
    },
    Release {
        nth: usize,
    },
    Drop {
        nth: usize,
    },
    Lose {
        nth: usize,
    },
}

fn action() -> impl Strategy<Value = Action> {
    let place = || (0..SCOPES, 0..KEYS);
    prop_oneof![
        6 => place().prop_map(|(scope, key)| Action::Acquire { scope, key }),
        1 => place().prop_map(|(scope, key)| Action::Cancel { scope, key }),
        1 => place().prop_map(|(scope, key)| Action::Plain { scope, key }),
        3 => (0..100_usize).prop_map(|nth| Action::Release { nth }),
        1 => (0..100_usize).prop_map(|nth| Action::Drop { nth }),
        1 => (0..100_usize).prop_map(|nth| Action::Lose { nth }),
    ]
}

/// The expected state: at most one lease per key, with a count.
#[derive(Debug, Clone, Copy)]
struct Lease {
    scope: usize,
    token: FencingToken,
    guards: usize,
    lost: bool,
}

#[derive(Default)]
struct Counts {
    nested: usize,
    anew: usize,
    busy: usize,
    refused: usize,
    still_held: usize,
    already_lost: usize,
}

struct World {
    locks: LockManager,
    scopes: Vec<ReentrancyScope>,
    guards: Vec<(usize, LockGuard<Reentrant>)>,
    leases: [Option<Lease>; KEYS],
}

impl World {
    fn new() -> Self {
        Self {
            locks: LockManager::in_process(),
            scopes: (0..SCOPES).map(|_| ReentrancyScope::new()).collect(),
            guards: Vec::new(),
            leases: [None; KEYS],
        }
    }

    fn take_guard(&mut self, nth: usize) -> Option<(usize, LockGuard<Reentrant>)> {
        let count = self.guards.len();
        (count > 0).then(|| self.guards.swap_remove(nth % count))
    }

    /// Removes one guard. Returns the expected result of its release, or `None` if the lock is lost.
    fn gone(&mut self, key: usize) -> Option<Outcome> {
        let lease = self.leases[key].as_mut().unwrap();
        lease.guards -= 1;
        let (lost, last) = (lease.lost, lease.guards == 0);
        if last {
            self.leases[key] = None;
        }
        match (lost, last) {
            (true, _) => None,
            (false, true) => Some(Outcome::Released),
            (false, false) => Some(Outcome::StillHeld),
        }
    }

    async fn step(&mut self, action: Action, counts: &mut Counts) {
        match action {
            Action::Acquire { scope, key } => self.acquire(scope, key, counts).await,
            Action::Cancel { scope, key } => {
                let lock = self.locks.lock(name(key)).reentrant(&self.scopes[scope]);
                drop(lock.acquire().now_or_never());
            }
            Action::Plain { scope, key } => {
                let acquire = self.locks.lock(name(key)).wait(Duration::ZERO).acquire();
                let told = self.scopes[scope].enter(acquire).await;
                let lease = self.leases[key];
                let own = lease.is_some_and(|lease| lease.scope == scope && !lease.lost);
                let already_held = matches!(told, Err(Error::AlreadyHeld { .. }));
                assert_eq!(already_held, own);
                assert_eq!(told.is_ok(), lease.is_none());
                counts.refused += usize::from(own);
            }
            Action::Release { nth } => {
                if let Some((key, guard)) = self.take_guard(nth) {
                    let expected = self.gone(key);
                    let released = match guard.release().await {
                        Ok(outcome) => Some(outcome),
                        Err(Error::Lost(lost)) => {
                            assert_eq!(lost.reason, EndReason::Expired);
                            None
                        }
                        Err(other) => panic!("{other}"),
                    };
                    assert_eq!(released, expected);
                    counts.still_held += usize::from(expected == Some(Outcome::StillHeld));
                    counts.already_lost += usize::from(expected.is_none());
                }
            }
            Action::Drop { nth } => {
                if let Some((key, guard)) = self.take_guard(nth) {
                    self.gone(key);
                    drop(guard);
                }
            }
            Action::Lose { nth } => {
                if let Some((key, guard)) = self.guards.get(nth % self.guards.len().max(1)) {
                    guard.simulate_loss();
                    self.leases[*key].as_mut().unwrap().lost = true;
                }
            }
        }
    }

    async fn acquire(&mut self, scope: usize, key: usize, counts: &mut Counts) {
        let lock = self.locks.lock(name(key)).reentrant(&self.scopes[scope]);
        let taken = lock.try_acquire().await.unwrap();
        let lease = &mut self.leases[key];
        match (lease, taken) {
            (Some(lease), Some(guard)) => {
                assert!(lease.scope == scope && !lease.lost, "{lease:?}");
                assert_eq!(guard.token(), lease.token);
                lease.guards += 1;
                counts.nested += 1;
                self.guards.push((key, guard));
            }
            (lease @ None, Some(guard)) => {
                *lease = Some(Lease {
                    scope,
                    token: guard.token(),
                    guards: 1,
                    lost: false,
                });
                counts.anew += 1;
                self.guards.push((key, guard));
            }
            (Some(lease), None) => {
                assert!(lease.scope != scope || lease.lost, "{lease:?}");
                counts.busy += 1;
            }
            (None, None) => panic!("a free lock is busy"),
        }
    }

    async fn check(&self) {
        for (key, lease) in self.leases.iter().enumerate() {
            let seen = self.locks.inspect(name(key)).await.unwrap();
            assert_eq!(seen.token, lease.map(|lease| lease.token));
            assert_eq!(seen.waiting, 0);
        }
        for (key, guard) in &self.guards {
            let lease = self.leases[*key].unwrap();
            assert_eq!(
                (guard.is_valid(), guard.token()),
                (!lease.lost, lease.token)
            );
        }
    }
}

fn name(key: usize) -> String {
    format!("k{key}")
}

#[test]
fn histories_keep_the_count() {
    let config = Config {
        cases: depth::scaled(CASES).try_into().unwrap(),
        rng_seed: RngSeed::Fixed(depth::seed()),
        failure_persistence: None,
        ..Config::default()
    };
    let histories = proptest::collection::vec(action(), 1..40);
    let counts = std::cell::RefCell::new(Counts::default());
    let ran = TestRunner::new(config).run(&histories, |history| {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        let mut seen = counts.take();
        runtime.block_on(async {
            let mut world = World::new();
            for action in history {
                world.step(action, &mut seen).await;
                // Wait for background work after a drop.
                sleep(Duration::from_millis(1)).await;
                world.check().await;
            }
        });
        counts.replace(seen);
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
    let counts = counts.into_inner();
    for often in [
        counts.nested,
        counts.anew,
        counts.busy,
        counts.refused,
        counts.still_held,
        counts.already_lost,
    ] {
        assert!(
            often as u64 > CASES / 10,
            "the histories have everything in them"
        );
    }
}
