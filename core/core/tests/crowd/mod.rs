//! Many tasks acquire one lock in turn during a planned change of the servers.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::{FencingToken, LockHandle, LockManager};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const TASKS_PER_MANAGER: usize = 4;
const HOLD: Duration = Duration::from_millis(10);

/// The least number of grants, without which the test would prove little.
const ENOUGH: usize = 50;

/// The observations of the tasks while they hold the lock.
#[derive(Debug, Default)]
struct Seen {
    last: Option<(FencingToken, LockHandle)>,
    overlaps: usize,
    out_of_order: usize,
    holds: usize,
    longest_gap: Duration,
    since: Option<Instant>,
}

impl Seen {
    fn enter(&mut self, token: FencingToken, guard: LockHandle) {
        if let Some((last, before)) = self.last.replace((token, guard)) {
            self.overlaps += usize::from(before.is_valid());
            self.out_of_order += usize::from(token <= last);
        }
        let now = Instant::now();
        let gap = self.since.replace(now).map(|it| now - it);
        self.longest_gap = self.longest_gap.max(gap.unwrap_or_default());
        self.holds += 1;
    }
}

/// Makes tasks of all managers acquire `k` in turn while `planned` runs, and for a while after it. Fails if two tasks
/// held it concurrently, or if a token was not larger than the one before. Also fails if the lock was free for longer
/// than `longest_gap`, or if it is still held at the end.
pub(crate) async fn served_throughout(
    managers: &[LockManager],
    longest_gap: Duration,
    planned: impl Future<Output = ()>,
) {
    let (seen, is_over) = (
        Arc::new(Mutex::new(Seen::default())),
        Arc::new(AtomicBool::new(false)),
    );
    let errors = Arc::new(AtomicUsize::new(0));
    let mut crowd = JoinSet::new();
    for locks in managers {
        for _ in 0..TASKS_PER_MANAGER {
            let (locks, seen, is_over) = (locks.clone(), Arc::clone(&seen), Arc::clone(&is_over));
            let errors = Arc::clone(&errors);
            crowd.spawn(async move {
                while !is_over.load(Ordering::Acquire) {
                    match locks.lock("k").wait(longest_gap * 2).acquire().await {
                        Ok(guard) => {
                            if guard.is_valid() {
                                seen.lock().unwrap().enter(guard.token(), guard.handle());
                            }
                            sleep(HOLD).await;
                            let _confirmed_or_lost = guard.release().await;
                        }
                        Err(_told) => {
                            errors.fetch_add(1, Ordering::AcqRel);
                            sleep(HOLD).await;
                        }
                    }
                }
            });
        }
    }
    sleep(Duration::from_secs(1)).await;
    planned.await;
    sleep(Duration::from_secs(2)).await;
    // A busy machine needs longer for so many.
    let begin = Instant::now();
    while seen.lock().unwrap().holds <= ENOUGH && begin.elapsed() < Duration::from_secs(120) {
        sleep(HOLD).await;
    }
    is_over.store(true, Ordering::Release);
    while let Some(task) = crowd.join_next().await {
        task.unwrap();
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let errors = errors.load(Ordering::Acquire);
    println!(
        "{} holds, {errors} errors, longest gap {:?}",
        seen.holds, seen.longest_gap
    );
    assert_eq!((seen.overlaps, seen.out_of_order), (0, 0), "{seen:?}");
    assert!(seen.longest_gap <= longest_gap, "{:?}", seen.longest_gap);
    assert!(seen.holds > ENOUGH, "{} holds", seen.holds);
    let left = Instant::now();
    loop {
        match managers[0].inspect("k").await {
            Ok(inspected) if inspected.is_free() => return,
            told => assert!(left.elapsed() < longest_gap, "{told:?}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}
