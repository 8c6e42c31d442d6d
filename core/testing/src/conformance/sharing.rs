//! Behaviour that users of read locks and semaphores rely on, tested through managers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::helpers::{eventually, fresh_name, in_time, short_ttl};
use leasehold_core::backend::Backend;
use leasehold_core::{
    EndReason, Error, HandoverTicket, LockManager, ReentrancyScope, ReentrantRelease,
};

async fn manager<B: Backend>(connect: &impl AsyncFn() -> B) -> LockManager {
    LockManager::new(connect().await)
}

async fn becomes_free(locks: &LockManager, key: &str) {
    eventually(
        "there are no holders and no waiters",
        async || match locks.inspect(key).await {
            Ok(seen) => seen.is_free(),
            Err(Error::Backend { .. }) => false,
            Err(error) => panic!("{error}"),
        },
    )
    .await;
}

/// Checks that a writer's section overlaps with no other section, and that two readers share the lock. All tasks
/// must acquire the lock.
pub async fn readers_and_a_writer_never_hold_the_lock_together<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    const TASKS: usize = 8;
    const ROUNDS: usize = 12;
    /// The amount that a writer adds to `inside`.
    const WRITER: i64 = 1000;
    let backend = connect().await;
    if !backend.capabilities().shared {
        return;
    }
    let managers = [LockManager::new(backend), manager(&connect).await];
    let key = fresh_name("read_write");
    let first = managers[0].rw_lock(&key).read().acquire().await;
    let second = managers[1].rw_lock(&key).read().acquire().await;
    for reader in [first, second] {
        let _outcome = reader.expect("readers share the lock").release().await;
    }
    let inside = Arc::new(AtomicI64::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (locks, key) = (managers[task % 2].clone(), key.clone());
        let inside = Arc::clone(&inside);
        tasks.spawn(async move {
            for round in 0..ROUNDS {
                // Even if a release's confirmation is lost, the next task gets the lock.
                if (task + round) % 4 == 0 {
                    let guard = locks.lock(&key).acquire().await.expect("acquire");
                    assert_eq!(inside.fetch_add(WRITER, Ordering::SeqCst), 0);
                    sleep(Duration::from_micros(500)).await;
                    assert_eq!(inside.fetch_sub(WRITER, Ordering::SeqCst), WRITER);
                    let _outcome = guard.release().await;
                } else {
                    let guard = locks.rw_lock(&key).read().acquire().await.expect("acquire");
                    let readers = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    assert!(readers < WRITER, "{readers}");
                    sleep(Duration::from_millis(2)).await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    let _outcome = guard.release().await;
                }
            }
        });
    }
    in_time("all get their turns", tasks.join_all()).await;
    becomes_free(&managers[0], &key).await;
}

/// Checks that the number of held permits never exceeds the limit, however many tasks want one or two permits.
pub async fn contending_tasks_never_hold_more_permits_than_the_limit<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    const PERMITS: u32 = 3;
    let backend = connect().await;
    if !backend.capabilities().permits {
        return;
    }
    let managers = [LockManager::new(backend), manager(&connect).await];
    let key = fresh_name("semaphore");
    let first = managers[0].semaphore(&key, PERMITS).acquire().await;
    let second = managers[1].semaphore(&key, PERMITS).acquire_many(2).await;
    for holder in [first, second] {
        let _outcome = holder.expect("all permits are acquired").release().await;
    }
    let taken = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..10_u32 {
        let (locks, key) = (managers[task as usize % 2].clone(), key.clone());
        let taken = Arc::clone(&taken);
        tasks.spawn(async move {
            for round in 0..10 {
                let wanted = (task + round) % 2 + 1;
                let semaphore = locks.semaphore(&key, PERMITS);
                let guard = semaphore.acquire_many(wanted).await.expect("acquire");
                assert_eq!(guard.permits(), wanted);
                let now = taken.fetch_add(wanted, Ordering::SeqCst) + wanted;
                assert!(now <= PERMITS, "{now} permits");
                sleep(Duration::from_millis(10)).await;
                taken.fetch_sub(wanted, Ordering::SeqCst);
                let _outcome = guard.release().await;
            }
        });
    }
    in_time("all get their turns", tasks.join_all()).await;
    becomes_free(&managers[0], &key).await;
}

/// Checks that the guard of a shared holder reports the loss if an operator takes the lock.
pub async fn a_reader_detects_a_forced_release<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    if !backend.capabilities().shared {
        return;
    }
    let ttl = short_ttl(&backend) * 3;
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("lost_share");
    let guard = here.rw_lock(&key).read().ttl(ttl).acquire().await;
    let guard = guard.expect("acquire");
    eventually("it is forced open", async || {
        there.force_release(&key).await.is_ok()
    })
    .await;
    let lost = in_time("the loss is noticed", guard.ended()).await;
    assert!(
        matches!(lost.reason, EndReason::Gone | EndReason::Expired),
        "{lost:?}"
    );
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(it)) if it.reason == lost.reason));
}

/// Checks that a cancelled reader leaves neither a position in the queue nor a held lock.
pub async fn a_cancelled_reader_leaves_no_waiter_and_no_lock<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    if !backend.capabilities().shared {
        return;
    }
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("cancelled_reader");
    for round in 0..20_u64 {
        let writer = here.lock(&key).acquire().await.expect("acquire");
        let reader = tokio::spawn(there.rw_lock(&key).read().acquire());
        sleep(Duration::from_micros(200 * round)).await;
        if round % 2 == 0 {
            drop(writer);
            reader.abort();
        } else {
            reader.abort();
            drop(writer);
        }
        // The reader may have acquired the lock before it was aborted.
        drop(reader.await);
        becomes_free(&here, &key).await;
    }
}

/// Checks that a downgraded guard is a reader: the guard stays valid, the watchdog renews its lease, and other readers
/// can acquire the lock. The handle of the exclusive lock reports the end of the lease.
pub async fn a_downgraded_guard_stays_valid_and_admits_readers<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    if !backend.capabilities().shared {
        return;
    }
    // On a busy machine, a renewal by a database may take half a second.
    let ttl = (short_ttl(&backend) * 3).max(Duration::from_millis(2_400));
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("downgraded");
    let reader = loop {
        let writer = here.lock(&key).ttl(ttl).acquire().await.expect("acquire");
        let (alone, token) = (writer.handle(), writer.token());
        match writer.downgrade().await {
            Ok(reader) => {
                assert_eq!(alone.ended().await.reason, EndReason::Downgraded);
                assert_eq!(reader.token(), token);
                break reader;
            }
            // The downgrade failed, so the lock is released.
            Err(error) => assert!(!alone.is_valid(), "{error}"),
        }
    };
    let other = there.rw_lock(&key).read().acquire().await.expect("acquire");
    sleep(ttl * 3).await;
    for reads in [reader.handle(), other.handle()] {
        reads.check().expect("the watchdog renews the lease");
    }
    let _outcome = (reader.release().await, other.release().await);
    becomes_free(&here, &key).await;
}

/// Checks that another manager can accept a ticket, only once, and receives a guard with a larger token.
pub async fn another_manager_accepts_a_handover_ticket_once<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    if !backend.capabilities().handover {
        return;
    }
    let (here, there) = (LockManager::new(backend), manager(&connect).await);
    let key = fresh_name("handed_over");
    let (given, ticket) = loop {
        let given = here.lock(&key).acquire().await.expect("acquire");
        let handle = given.handle();
        if let Ok(ticket) = given.hand_over().await {
            break (handle, ticket.to_string());
        }
    };
    assert_eq!(given.ended().await.reason, EndReason::HandedOver);
    // Neither an inspection nor a log reveals enough to make a ticket.
    let seen = loop {
        if let Ok(seen) = here.inspect(&key).await {
            break seen;
        }
    };
    let shown = seen.owner.expect("it is held");
    assert!(!ticket.contains(&shown), "{shown} is in {ticket}");
    let ticket: HandoverTicket = ticket.parse().expect("a ticket");
    let taken = there.accept(&ticket).await.expect("take up");
    assert_eq!((taken.key(), ticket.token()), (&*key, given.token()));
    assert!(taken.token() > given.token());
    let again = here.accept(&ticket).await.err();
    assert!(
        matches!(again, Some(Error::HandoverSpent { .. })),
        "{again:?}"
    );
    let _outcome = taken.release().await;
    becomes_free(&here, &key).await;
}

/// Checks that the guards of one scope share one lock and one token, and that the lock is free when the last guard is
/// dropped.
pub async fn guards_of_one_scope_share_one_lock_and_token<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (manager(&connect).await, manager(&connect).await);
    let key = fresh_name("scope");
    let scope = ReentrancyScope::new();
    let lock = here.lock(&key).reentrant(&scope);
    let outer = lock.clone().acquire().await.expect("acquire");
    let inner = lock.acquire().await.expect("acquire");
    assert_eq!(inner.token(), outer.token());
    let waiting = tokio::spawn(there.lock(&key).acquire());
    eventually("another caller waits", async || {
        let seen = here.inspect(&key).await;
        seen.is_ok_and(|seen| seen.waiting == 1)
    })
    .await;
    let outcome = outer.release().await.expect("no request is needed");
    assert_eq!(outcome, ReentrantRelease::StillHeld);
    assert!(inner.is_valid() && !waiting.is_finished());
    let token = inner.token();
    let _outcome = inner.release().await;
    let next = in_time("the next gets it", waiting)
        .await
        .expect("no panic");
    let next = next.expect("acquire");
    assert!(next.token() > token);
    drop(next);
    becomes_free(&here, &key).await;
}

/// Checks that a lock set locks all of its keys or none, whatever their order.
pub async fn a_lock_set_holds_all_of_its_keys_or_none<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (manager(&connect).await, manager(&connect).await);
    let name = fresh_name("several");
    let keys = ["a", "b", "c"].map(|key| format!("{name}:{key}"));
    let [first, middle, last] = &keys;
    let held = there.lock(middle).acquire().await.expect("acquire");
    let all = || here.lock_all([last, first, middle, first]);
    let refused = loop {
        match all().try_acquire().await {
            Ok(guard) => break guard,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    };
    assert!(refused.is_none());
    becomes_free(&there, first).await;
    becomes_free(&there, last).await;
    let token = held.token();
    let waiting = tokio::spawn(all().acquire());
    eventually("it waits for the one that is held", async || {
        let seen = there.inspect(middle).await;
        seen.is_ok_and(|seen| seen.waiting == 1)
    })
    .await;
    let _outcome = held.release().await;
    let guard = in_time("it gets all", waiting).await.expect("no panic");
    let guard = guard.expect("acquire");
    assert!(guard.token(middle) > Some(token));
    assert!(keys.iter().all(|key| guard.token(key).is_some()));
    for key in &keys {
        let busy = loop {
            match there.lock(key).try_acquire().await {
                Ok(guard) => break guard,
                Err(error) => assert!(error.is_temporary(), "{error}"),
            }
        };
        assert!(busy.is_none());
    }
    let _outcome = guard.release().await;
    for key in &keys {
        becomes_free(&there, key).await;
    }
}
