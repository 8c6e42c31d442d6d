//! Random histories of tasks that lock several keys, compared with a simple record of the holders.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use std::time::Duration;

use leasehold::{Error, LockManager, LockSetGuard};
use leasehold_testkit::depth;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample::subsequence;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The number of histories in `cargo test`.
const CASES: u64 = 500;

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

type Keys = Vec<&'static str>;

#[derive(Debug, Clone)]
enum Action {
    Try(Keys),
    /// A task that waits without a limit.
    Wait(Keys),
    /// A task that waits for 10 ms and then gives up.
    WaitBriefly(Keys),
    Cancel(usize),
    Release(usize),
    Drop(usize),
    Lose(usize, usize),
}

fn action() -> impl Strategy<Value = Action> {
    let keys = || subsequence(KEYS.to_vec(), 1..=3);
    prop_oneof![
        3 => keys().prop_map(Action::Try),
        4 => keys().prop_map(Action::Wait),
        1 => keys().prop_map(Action::WaitBriefly),
        1 => (0..100_usize).prop_map(Action::Cancel),
        3 => (0..100_usize).prop_map(Action::Release),
        1 => (0..100_usize).prop_map(Action::Drop),
        1 => (0..100_usize, 0..3_usize).prop_map(|(nth, key)| Action::Lose(nth, key)),
    ]
}

struct Held {
    guard: LockSetGuard,
    keys: Keys,
    lost: Vec<&'static str>,
}

#[derive(Debug, Default)]
struct Counts {
    at_once: usize,
    busy: usize,
    after_a_wait: usize,
    cancelled: usize,
    lost: usize,
}

struct World {
    locks: LockManager,
    held: Vec<Held>,
    waiting: Vec<(Keys, JoinHandle<Result<LockSetGuard, Error>>)>,
}

impl World {
    async fn is_free(&self, key: &str) -> bool {
        self.locks.inspect(key).await.unwrap().is_free()
    }

    async fn all_free(&self, keys: &[&str]) -> bool {
        for key in keys {
            if !self.is_free(key).await {
                return false;
            }
        }
        true
    }

    fn hold(&mut self, guard: LockSetGuard, keys: Keys) {
        assert_eq!(guard.keys().collect::<Vec<_>>(), keys);
        self.held.push(Held {
            guard,
            keys,
            lost: Vec::new(),
        });
    }

    fn take(&mut self, nth: usize) -> Option<Held> {
        let count = self.held.len();
        (count > 0).then(|| self.held.swap_remove(nth % count))
    }

    async fn release(&mut self, nth: usize) {
        if let Some(held) = self.take(nth) {
            match held.guard.release().await {
                Ok(()) => assert!(held.lost.is_empty()),
                Err(Error::LockSetRelease(error)) => {
                    let mut lost: Vec<_> = error.lost.iter().map(|lost| lost.key.name()).collect();
                    lost.sort_unstable();
                    assert_eq!(lost, held.lost);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    async fn step(&mut self, action: Action, counts: &mut Counts) {
        match action {
            Action::Try(keys) => {
                let free = self.all_free(&keys).await;
                let taken = self.locks.lock_all(&keys).try_acquire().await.unwrap();
                assert_eq!(taken.is_some(), free, "{keys:?}");
                counts.at_once += usize::from(free);
                counts.busy += usize::from(!free);
                if let Some(guard) = taken {
                    self.hold(guard, keys);
                }
            }
            Action::Wait(keys) => {
                let acquire = self.locks.lock_all(keys.iter().rev()).acquire();
                self.waiting.push((keys, tokio::spawn(acquire)));
            }
            Action::WaitBriefly(keys) => {
                let free = self.all_free(&keys).await;
                let brief = Duration::from_millis(10);
                let acquire = self.locks.lock_all(&keys).wait(brief).acquire().await;
                assert_eq!(acquire.is_ok(), free);
                if let Ok(guard) = acquire {
                    self.hold(guard, keys);
                }
            }
            Action::Cancel(nth) => {
                let count = self.waiting.len();
                if count > 0 {
                    let (_keys, task) = self.waiting.swap_remove(nth % count);
                    task.abort();
                    counts.cancelled += 1;
                }
            }
            Action::Release(nth) => self.release(nth).await,
            Action::Drop(nth) => drop(self.take(nth)),
            Action::Lose(nth, key) => {
                let count = self.held.len().max(1);
                if let Some(held) = self.held.get_mut(nth % count) {
                    let key = held.keys[key % held.keys.len()];
                    assert!(held.guard.simulate_loss(key));
                    held.lost.push(key);
                    held.lost.sort_unstable();
                    held.lost.dedup();
                    counts.lost += 1;
                }
            }
        }
    }

    /// Waits until all tasks are idle, and compares the states.
    async fn check(&mut self, counts: &mut Counts) {
        sleep(Duration::from_millis(1)).await;
        let mut still = Vec::new();
        for (keys, task) in std::mem::take(&mut self.waiting) {
            if task.is_finished() {
                self.hold(task.await.unwrap().unwrap(), keys);
                counts.after_a_wait += 1;
            } else {
                still.push((keys, task));
            }
        }
        self.waiting = still;
        for (nth, held) in self.held.iter().enumerate() {
            assert_eq!(held.guard.is_valid(), held.lost.is_empty());
            for key in &held.keys {
                // The backend has the token of this holder, so no other holder has the key.
                let seen = self.locks.inspect(key).await.unwrap();
                assert_eq!(seen.token, held.guard.token(key), "{key}");
                let others = self.held.iter().skip(nth + 1);
                assert!(others.clone().all(|other| !other.keys.contains(key)));
            }
        }
        for (keys, _task) in &self.waiting {
            assert!(!self.all_free(keys).await, "{keys:?} are free");
        }
        if self.held.is_empty() {
            assert!(self.waiting.is_empty(), "they wait for each other");
            assert!(self.all_free(&KEYS).await, "something partial is left");
        }
    }

    async fn end(&mut self, counts: &mut Counts) {
        while !self.held.is_empty() {
            self.release(0).await;
            self.check(counts).await;
        }
        assert!(self.waiting.is_empty());
    }
}

#[test]
fn histories_hold_all_or_nothing() {
    let config = Config {
        cases: depth::scaled(CASES).try_into().unwrap(),
        rng_seed: RngSeed::Fixed(depth::seed()),
        failure_persistence: None,
        ..Config::default()
    };
    let histories = proptest::collection::vec(action(), 1..25);
    let counts = std::cell::RefCell::new(Counts::default());
    let ran = TestRunner::new(config).run(&histories, |history| {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        let mut seen = counts.take();
        runtime.block_on(async {
            let mut world = World {
                locks: LockManager::in_process(),
                held: Vec::new(),
                waiting: Vec::new(),
            };
            for action in history {
                world.step(action, &mut seen).await;
                world.check(&mut seen).await;
            }
            world.end(&mut seen).await;
        });
        counts.replace(seen);
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
    let counts = counts.into_inner();
    println!("{counts:?}");
    let Counts {
        at_once,
        busy,
        after_a_wait,
        cancelled,
        lost,
    } = counts;
    for often in [at_once, busy, after_a_wait, cancelled, lost] {
        assert!(
            often as u64 > CASES / 10,
            "the histories have everything in them"
        );
    }
}
