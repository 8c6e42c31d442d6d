//! Minimum hold times, tested through managers. A backend without the capability `hold_at_least` must refuse the
//! option.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::helpers::{eventually, fresh_name, in_time, short_ttl};
use leasehold_core::backend::{Backend, Capabilities};
use leasehold_core::kind::Kind;
use leasehold_core::{Error, Lock, LockManager};

/// The longest delay after which a lock counts as free immediately. The TTL of the locks is longer.
const SOON: Duration = Duration::from_secs(10);

/// Two managers of one backend, a new key, and a minimum hold time.
struct World {
    here: LockManager,
    there: LockManager,
    key: String,
    minimum: Duration,
    can: Capabilities,
}

impl World {
    /// Returns `None` if the backend does not support minimum hold times, after checking that it refuses them.
    async fn new<B: Backend>(connect: &impl AsyncFn() -> B, case: &str) -> Option<Self> {
        let backend = connect().await;
        let world = Self {
            minimum: short_ttl(&backend) * 2,
            can: backend.capabilities(),
            here: LockManager::new(backend),
            there: LockManager::new(connect().await),
            key: fresh_name(case),
        };
        if world.can.hold_at_least {
            return Some(world);
        }
        let lock = world.lock().try_acquire().await.err();
        let set = world.here.lock_all([&world.key]);
        let set = set.hold_at_least(world.minimum).try_acquire().await.err();
        for refused in [lock, set] {
            assert!(
                matches!(refused, Some(Error::Unsupported { .. })),
                "{refused:?}"
            );
        }
        None
    }

    fn lock(&self) -> Lock {
        self.here.lock(&self.key).hold_at_least(self.minimum)
    }

    /// Checks that the other manager gets the lock when the minimum hold time has passed since `acquired`, and not
    /// before.
    async fn is_taken<K: Kind>(&self, acquired: Instant, lock: impl Fn() -> Lock<K>) {
        let free_after = became_free(lock).await - acquired;
        assert!(free_after >= self.minimum, "free after {free_after:?}");
        assert!(free_after < self.minimum + SOON, "{free_after:?}");
    }
}

/// Waits until the lock can be acquired, acquires and releases it, and returns when it was acquired.
async fn became_free<K: Kind>(lock: impl Fn() -> Lock<K>) -> Instant {
    let mut free = Instant::now();
    eventually("the lock is free", async || {
        match lock().try_acquire().await {
            Ok(guard) => {
                free = Instant::now();
                guard.is_some()
            }
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                false
            }
        }
    })
    .await;
    free
}

/// Checks that a lock stays taken for the minimum hold time, whether its guard is released or dropped. A lock that was
/// held for longer is free immediately.
pub async fn a_released_lock_stays_taken<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(world) = World::new(&connect, "released").await else {
        return;
    };
    let other = || world.there.lock(&world.key);
    for is_dropped in [false, true] {
        let acquired = Instant::now();
        let guard = world.lock().acquire().await.expect("acquire");
        let handle = guard.handle();
        if is_dropped {
            drop(guard);
        } else {
            // Even if the confirmation is lost, the lock becomes free.
            let _outcome = guard.release().await;
        }
        assert!(!handle.is_valid());
        world.is_taken(acquired, other).await;
    }
    let guard = world.lock().acquire().await.expect("acquire");
    sleep(world.minimum).await;
    let released = Instant::now();
    let _outcome = guard.release().await;
    assert!(became_free(other).await - released < SOON);
}

/// Checks that a lock stays taken for the minimum hold time after its holder has crashed, even with a shorter TTL.
pub async fn the_lock_of_a_crashed_holder_stays_taken<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(world) = World::new(&connect, "crashed").await else {
        return;
    };
    let lock = world.lock().ttl(world.minimum / 2).without_renewal();
    let sent = Instant::now();
    std::mem::forget(lock.acquire().await.expect("acquire"));
    world.is_taken(sent, || world.there.lock(&world.key)).await;
}

/// Checks that a lock stays taken for the minimum hold time after its manager was shut down.
pub async fn a_shutdown_leaves_the_lock_taken<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(world) = World::new(&connect, "shutdown").await else {
        return;
    };
    let acquired = Instant::now();
    let _guard = world.lock().acquire().await.expect("acquire");
    let shutdown = in_time("a shutdown ends", world.here.shutdown()).await;
    shutdown.expect("shutdown");
    let other = || world.there.lock(&world.key);
    world.is_taken(acquired, other).await;
}

/// Checks that waiters acquire the lock when the minimum hold time has passed, in their order if the backend has the
/// capability `fifo`.
pub async fn waiters_acquire_when_the_minimum_hold_time_has_passed<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    const WAITERS: usize = 4;
    let Some(world) = World::new(&connect, "waiters").await else {
        return;
    };
    let minimum = world.minimum * 2;
    let lock = world.here.lock(&world.key).hold_at_least(minimum);
    let acquired = Instant::now();
    let guard = lock.acquire().await.expect("acquire");
    let served: Arc<Mutex<Vec<(usize, Instant)>>> = Arc::default();
    let mut tasks = JoinSet::new();
    for place in 0..WAITERS {
        let locks = [&world.here, &world.there][place % 2];
        let (lock, served) = (locks.lock(&world.key), Arc::clone(&served));
        tasks.spawn(async move {
            let guard = lock.acquire().await.expect("acquire");
            served.lock().push((place, Instant::now()));
            drop(guard);
        });
        eventually("the waiter is queued", async || {
            let seen = world.there.inspect(&world.key).await;
            seen.is_ok_and(|seen| seen.waiting == place + 1)
        })
        .await;
    }
    let _outcome = guard.release().await;
    in_time("all are served", tasks.join_all()).await;
    let mut served = served.lock().clone();
    if !world.can.fifo {
        served.sort_unstable();
    }
    let order: Vec<usize> = served.iter().map(|(place, _)| *place).collect();
    assert_eq!(order, (0..WAITERS).collect::<Vec<_>>());
    let first = served.iter().map(|(_, at)| *at - acquired).min();
    let first = first.expect("a waiter was served");
    assert!(first >= minimum, "served after {first:?}");
    assert!(first < minimum + SOON, "served after {first:?}");
}

/// Checks that an operator ends the minimum hold time of a released lock.
pub async fn a_forced_release_ends_the_minimum_hold_time<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(world) = World::new(&connect, "forced").await else {
        return;
    };
    let lock = world.here.lock(&world.key).hold_at_least(SOON * 3);
    let guard = lock.acquire().await.expect("acquire");
    let released = Instant::now();
    let _outcome = guard.release().await;
    eventually("an operator's command goes through", async || {
        world.there.force_release(&world.key).await.is_ok()
    })
    .await;
    let free = became_free(|| world.there.lock(&world.key)).await;
    assert!(free - released < SOON);
}

/// Checks that a reader's lock and a holder's permit stay taken for the minimum hold time, and do not block other
/// readers and permits. A downgraded lock keeps the time of the writer.
pub async fn read_locks_and_permits_stay_taken<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(world) = World::new(&connect, "shares").await else {
        return;
    };
    let (here, there, key) = (&world.here, &world.there, &world.key);
    if world.can.shared {
        let read = |locks: &LockManager| locks.rw_lock(key).read();
        for is_downgraded in [false, true] {
            let (acquired, reader) = if is_downgraded {
                loop {
                    let acquired = Instant::now();
                    let writer = world.lock().acquire().await.expect("acquire");
                    // A writer whose downgrade fails is released.
                    if let Ok(reader) = writer.downgrade().await {
                        break (acquired, reader);
                    }
                }
            } else {
                let acquired = Instant::now();
                let reader = read(here).hold_at_least(world.minimum).acquire().await;
                (acquired, reader.expect("acquire"))
            };
            let _outcome = reader.release().await;
            became_free(|| read(there)).await;
            world.is_taken(acquired, || there.lock(key)).await;
        }
    }
    if world.can.permits {
        let key = fresh_name("permits");
        let permits = |locks: &LockManager| locks.semaphore(&key, 2);
        let lock = permits(here).hold_at_least(world.minimum);
        let acquired = Instant::now();
        let guard = lock.acquire().await.expect("acquire");
        let _outcome = guard.release().await;
        let other = permits(there).acquire().await.expect("acquire");
        world.is_taken(acquired, || permits(there)).await;
        drop(other);
    }
}

/// Checks that after a handover only the minimum hold time of the new holder applies.
pub async fn after_a_handover_only_the_new_minimum_hold_time_applies<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let Some(world) = World::new(&connect, "new_holder").await else {
        return;
    };
    if !world.can.handover {
        return;
    }
    let other = || world.there.lock(&world.key);
    for has_minimum in [false, true] {
        let given = world.here.lock(&world.key).hold_at_least(SOON * 3);
        let (taken, acquired) = loop {
            let given = given.clone().acquire().await.expect("acquire");
            // A lock whose handover fails is released.
            let Ok(ticket) = given.hand_over().await else {
                eventually("it is forced open", async || {
                    world.there.force_release(&world.key).await.is_ok()
                })
                .await;
                continue;
            };
            let (accept, sent) = (world.there.accept(&ticket), Instant::now());
            let taken = match has_minimum {
                true => accept.hold_at_least(world.minimum).await,
                false => accept.await,
            };
            break (taken, sent);
        };
        let _outcome = taken.expect("accept").release().await;
        if has_minimum {
            world.is_taken(acquired, other).await;
        } else {
            assert!(became_free(other).await - acquired < SOON);
        }
    }
}

/// Checks that all locks of a set stay taken for the minimum hold time after the last of them was granted.
pub async fn the_locks_of_a_set_stay_taken<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(world) = World::new(&connect, "set").await else {
        return;
    };
    let keys = ["a", "b"].map(|key| format!("{}:{key}", world.key));
    let held = world.there.lock(&keys[1]).acquire().await.expect("acquire");
    let set = world.here.lock_all(&keys).hold_at_least(world.minimum);
    let waiting = tokio::spawn(set.acquire());
    eventually("the set waits for its second lock", async || {
        let seen = world.there.inspect(&keys[1]).await;
        seen.is_ok_and(|seen| seen.waiting == 1)
    })
    .await;
    let acquired = Instant::now();
    let _outcome = held.release().await;
    let guard = in_time("it is granted", waiting).await.expect("no panic");
    let _outcome = guard.expect("acquire").release().await;
    for key in &keys {
        world.is_taken(acquired, || world.there.lock(key)).await;
    }
}
