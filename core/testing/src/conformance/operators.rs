//! What operators see and do: labels of holders, the holders of shared locks, and lists of locks.

use std::collections::BTreeMap;
use std::time::Duration;

use super::helpers::{eventually, fresh_name, in_time};
use leasehold_core::backend::{Backend, Inspection};
use leasehold_core::{EndReason, Error, ListedLock, LockList, LockManager};

async fn manager<B: Backend>(connect: &impl AsyncFn() -> B, label: &str) -> LockManager {
    let manager = LockManager::builder().label(label);
    manager.build(connect().await).expect("a valid label")
}

async fn inspect(locks: &LockManager, key: &str) -> Inspection {
    loop {
        match locks.inspect(key).await {
            Ok(seen) => return seen,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    }
}

/// Returns the next lock of a list, and repeats the request on temporary errors.
async fn next(list: &mut LockList) -> Option<ListedLock> {
    loop {
        match list.next().await {
            Ok(next) => return next,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    }
}

/// Takes the lock from one holder, and repeats the request on temporary errors.
async fn force(locks: &LockManager, key: &str, holder: &str) -> bool {
    loop {
        match locks.force_release_holder(key, holder).await {
            Ok(forced) => return forced,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    }
}

fn labels(seen: &Inspection) -> Vec<&str> {
    let labels = seen.held_by.iter();
    let mut labels: Vec<&str> = labels.filter_map(|it| it.label.as_deref()).collect();
    labels.sort_unstable();
    labels
}

/// Checks that the holder of a lock has the label of its manager, also after the lock was granted to a waiter.
pub async fn an_inspection_shows_the_label_of_the_holder<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (
        manager(&connect, "here").await,
        manager(&connect, "there/7").await,
    );
    let key = fresh_name("labelled");
    let guard = here.lock(&key).acquire().await.expect("acquire");
    let seen = inspect(&there, &key).await;
    assert_eq!((labels(&seen), seen.holders), (vec!["here"], 1), "{seen:?}");
    let holder = &seen.held_by[0];
    assert_eq!((seen.owner.as_ref(), holder.permits), (Some(&holder.id), 1));
    assert_eq!(holder.expires_in, seen.expires_in);
    let waiter = tokio::spawn(there.lock(&key).acquire());
    eventually("one waits", async || {
        inspect(&here, &key).await.waiting == 1
    })
    .await;
    drop(guard);
    let granted = in_time("the waiter is granted the lock", waiter).await;
    let _guard = granted.expect("no panic").expect("acquire");
    let seen = inspect(&here, &key).await;
    assert_eq!(labels(&seen), ["there/7"], "{seen:?}");
}

/// Checks that each holder of permits is listed, and that an operator can take the permits of one holder. Does nothing if
/// the backend does not have the capability `permits`.
pub async fn holders_of_permits_are_listed<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (
        manager(&connect, "here").await,
        manager(&connect, "there").await,
    );
    if !here.capabilities().permits {
        return;
    }
    let key = fresh_name("permits");
    let ttl = Duration::from_secs(6);
    let two = here
        .semaphore(&key, 4)
        .ttl(ttl)
        .acquire_many(2)
        .await
        .expect("acquire");
    let one = there
        .semaphore(&key, 4)
        .ttl(ttl)
        .acquire()
        .await
        .expect("acquire");
    let seen = inspect(&here, &key).await;
    assert_eq!(
        (labels(&seen), seen.holders),
        (vec!["here", "there"], 3),
        "{seen:?}"
    );
    let holder = |id: String| {
        seen.held_by
            .iter()
            .find(|it| it.id == id)
            .expect("a holder")
    };
    let (large, small) = (
        holder(two.attempt_id().to_string()),
        holder(one.attempt_id().to_string()),
    );
    assert_eq!((large.permits, small.permits), (2, 1));
    assert!(
        seen.held_by
            .iter()
            .all(|it| it.expires_in.is_some_and(|left| !left.is_zero()))
    );

    assert!(force(&there, &key, &large.id).await);
    let lost = in_time("the holder detects the loss", two.ended()).await;
    assert_eq!(lost.reason, EndReason::Gone);
    let seen = inspect(&here, &key).await;
    assert_eq!(
        (labels(&seen), seen.holders),
        (vec!["there"], 1),
        "{seen:?}"
    );
    assert!(!force(&there, &key, &large.id).await);
    assert!(one.is_valid());
}

/// Checks that each reader is listed. Does nothing if the backend does not have the capability `shared`.
pub async fn readers_are_listed<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (
        manager(&connect, "here").await,
        manager(&connect, "there").await,
    );
    if !here.capabilities().shared {
        return;
    }
    let key = fresh_name("readers");
    let one = here.rw_lock(&key).read().acquire().await.expect("acquire");
    let _other = there.rw_lock(&key).read().acquire().await.expect("acquire");
    let seen = inspect(&here, &key).await;
    assert_eq!(
        (labels(&seen), seen.owner.clone()),
        (vec!["here", "there"], None),
        "{seen:?}"
    );
    // Even if the confirmation is lost, the reader is gone soon.
    let _outcome = one.release().await;
    eventually("the other reader is left", async || {
        labels(&inspect(&here, &key).await) == ["there"]
    })
    .await;
}

/// Checks that an operator can take a lock from its holder, and only from a holder with the given id.
pub async fn force_release_holder_takes_the_lock_only_from_that_holder<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let locks = manager(&connect, "here").await;
    let key = fresh_name("taken");
    let _guard = locks.lock(&key).acquire().await.expect("acquire");
    assert!(!force(&locks, &key, "0123456789ab").await);
    let seen = inspect(&locks, &key).await;
    assert!(force(&locks, &key, &seen.held_by[0].id).await);
    assert!(inspect(&locks, &key).await.is_free());
}

/// Checks that the error of an acquire that timed out names the holder, if the lock has this option.
pub async fn a_timeout_error_names_the_holder_if_requested<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (
        manager(&connect, "here").await,
        manager(&connect, "there").await,
    );
    let key = fresh_name("reported");
    let _guard = here.lock(&key).acquire().await.expect("acquire");
    for expected in [None, Some("here")] {
        // A busy machine may not reply within a short wait.
        let mut wait = Duration::from_millis(20);
        loop {
            let mut lock = there.lock(&key).wait(wait);
            if expected.is_some() {
                lock = lock.report_holder();
            }
            match lock.acquire().await {
                Err(Error::TimedOut { holder, .. }) if holder.as_deref() == expected => break,
                Err(Error::TimedOut { holder: None, .. } | Error::Backend { .. })
                    if wait < Duration::from_secs(5) =>
                {
                    wait *= 2;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Checks that a list contains the locks that are held under a prefix, with their holders and waiters. Does nothing if
/// the backend does not have the capability `list`.
pub async fn held_locks_are_listed<B: Backend>(connect: impl AsyncFn() -> B) {
    const KEYS: usize = 230;
    let (here, there) = (
        manager(&connect, "here").await,
        manager(&connect, "there").await,
    );
    let prefix = fresh_name("listed");
    if !here.capabilities().list {
        let refused = here.list(&prefix).next().await;
        assert!(
            matches!(refused, Err(Error::Unsupported { .. })),
            "{refused:?}"
        );
        return;
    }
    let mut held = Vec::new();
    for n in 0..KEYS {
        let locks = if n % 2 == 0 { &here } else { &there };
        let key = format!("{prefix}:{n}");
        held.push(locks.lock(key).acquire().await.expect("acquire"));
    }
    let released = here
        .lock(format!("{prefix}:released"))
        .acquire()
        .await
        .expect("acquire");
    // Even if the confirmation is lost, the lock is free soon.
    let _outcome = released.release().await;
    eventually("it is released", async || {
        inspect(&here, &format!("{prefix}:released"))
            .await
            .is_free()
    })
    .await;
    let _other = here
        .lock(format!("other:{prefix}"))
        .acquire()
        .await
        .expect("acquire");
    let busy = format!("{prefix}:0");
    let waiter = tokio::spawn(there.lock(&busy).acquire());
    eventually("one waits", async || {
        inspect(&here, &busy).await.waiting == 1
    })
    .await;

    let (mut list, mut listed) = (here.list(format!("{prefix}:")), BTreeMap::new());
    while let Some(lock) = next(&mut list).await {
        listed.insert(lock.key, lock.state);
    }
    assert_eq!(listed.len(), KEYS, "{:?}", listed.keys());
    for (n, guard) in held.iter().enumerate() {
        let state = &listed[&format!("{prefix}:{n}")];
        assert_eq!(labels(state), [if n % 2 == 0 { "here" } else { "there" }]);
        assert_eq!((state.holders, state.waiting), (1, usize::from(n == 0)));
        assert_eq!(state.token, Some(guard.token()));
        assert!(state.expires_in.is_some());
    }
    assert!(next(&mut here.list("no such prefix")).await.is_none());
    waiter.abort();
}

/// Checks that a list contains read locks and semaphores, with each of their holders. Does nothing if the backend does
/// not have the capabilities `list`, `shared` and `permits`.
pub async fn shared_locks_are_listed<B: Backend>(connect: impl AsyncFn() -> B) {
    let locks = manager(&connect, "here").await;
    let can = locks.capabilities();
    if !(can.list && can.shared && can.permits) {
        return;
    }
    let prefix = fresh_name("kinds");
    let (reader, permits) = (format!("{prefix}:r"), format!("{prefix}:p"));
    let _one = locks
        .rw_lock(&reader)
        .read()
        .acquire()
        .await
        .expect("acquire");
    let _two = locks
        .rw_lock(&reader)
        .read()
        .acquire()
        .await
        .expect("acquire");
    let _three = locks
        .semaphore(&permits, 5)
        .acquire_many(3)
        .await
        .expect("acquire");
    let (mut list, mut listed) = (locks.list(&prefix), BTreeMap::new());
    while let Some(lock) = next(&mut list).await {
        assert_eq!(lock.state.held_by[0].label.as_deref(), Some("here"));
        let holders = (lock.state.holders, lock.state.held_by.len());
        listed.insert(lock.key, holders);
    }
    assert_eq!(
        listed,
        BTreeMap::from([(reader, (2, 2)), (permits, (3, 1))])
    );
}
