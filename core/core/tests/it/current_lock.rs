//! The locks that code finds in its own task.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use leasehold::kind::Current;
use leasehold::{
    CurrentLock, EndReason, Error, LockHandle, LockManager, NoCurrentLockError, ReentrancyScope,
    current_lock, current_lock_by_key, current_locks,
};

fn current() -> Result<CurrentLock, Error> {
    current_lock()
}

fn error<T>(result: Result<T, Error>) -> Option<NoCurrentLockError> {
    match result {
        Err(Error::NoCurrentLock(error)) => Some(error),
        _ => None,
    }
}

#[tokio::test]
async fn each_way_to_run_under_a_lock_makes_it_the_current_one() {
    let locks = LockManager::in_process();
    let by_lock = locks
        .lock("a")
        .run(async |lock| Ok::<_, Error>((lock.token(), current()?.token())))
        .await;
    let (own, found) = by_lock.unwrap();
    assert_eq!(own, found);

    let guard = locks.lock("a").acquire().await.unwrap();
    let by_guard = guard
        .run(async |_| Ok::<_, Error>(current()?.token()))
        .await;
    let by_handle = guard
        .handle()
        .run(async |_| Ok::<_, Error>(current()?.token()))
        .await;
    let in_scope = guard
        .handle()
        .scope(async { Ok::<_, Error>(current()?.token()) })
        .await;
    let on_a_thread = guard
        .run_blocking(|_| Ok::<_, Error>(current()?.token()))
        .await;
    for found in [by_guard, by_handle, in_scope, on_a_thread] {
        assert_eq!(found.unwrap(), guard.token());
    }
    guard.release().await.unwrap();

    let reader = locks
        .rw_lock("a")
        .read()
        .run(async |lock| Ok::<_, Error>((lock.token(), current()?.token())));
    let (own, found) = reader.await.unwrap();
    assert_eq!(own, found);

    let scope = ReentrancyScope::new();
    let outer = locks.lock("a").reentrant(&scope).acquire().await.unwrap();
    let nested = locks.lock("a").reentrant(&scope).acquire().await.unwrap();
    let found = nested
        .run(async |_| Ok::<_, Error>(current()?.token()))
        .await;
    assert_eq!(found.unwrap(), outer.token());
}

#[tokio::test]
async fn the_innermost_lock_is_the_current_one_and_others_are_found_by_key() {
    let locks = LockManager::in_process();
    let (order, account) = (
        locks.lock("order:1").acquire().await,
        locks.lock("account:7").acquire().await,
    );
    let (order, account) = (order.unwrap(), account.unwrap());
    let found: Result<Vec<CurrentLock>, Error> = order
        .run(async |_| {
            account
                .run(async |_| {
                    Ok(vec![
                        current()?,
                        current_lock_by_key("order:1")?,
                        current_lock_by_key("account:7")?,
                    ])
                })
                .await
        })
        .await;
    let tokens: Vec<_> = found.unwrap().iter().map(LockHandle::token).collect();
    assert_eq!(tokens, [account.token(), order.token(), account.token()]);

    let all = order.run(async |_| account.run(async |_| Ok::<_, Error>(current_locks())).await);
    let all = all.await.unwrap();
    let keys: Vec<_> = all.iter().map(LockHandle::<Current>::key).collect();
    assert_eq!(keys, ["account:7", "order:1"]);

    let other = order
        .run(async |_| current_lock_by_key("order:2").map(drop))
        .await;
    let other = error(other).unwrap();
    assert!(matches!(&other, NoCurrentLockError::OtherKeys { key, .. } if key == "order:2"));
    assert!(
        other.to_string().contains("`order:2`, but on `order:1`"),
        "{other}"
    );
    assert!(current_locks().is_empty());
}

#[tokio::test]
async fn of_locks_acquired_together_none_is_the_current_one() {
    let locks = LockManager::in_process();
    let both = locks.lock_all(["a", "b"]).acquire().await.unwrap();
    let ambiguous = both.run(async |_| current().map(drop)).await;
    assert!(
        matches!(error(ambiguous), Some(NoCurrentLockError::Several { held }) if held.len() == 2)
    );
    let by_key = both
        .run(async |_| Ok::<_, Error>(current_lock_by_key("a")?.token()))
        .await;
    assert_eq!(Some(by_key.unwrap()), both.token("a"));
    let scoped = both.handle().scope(async { error(current()) }).await;
    assert!(matches!(scoped, Some(NoCurrentLockError::Several { .. })));
    both.release().await.unwrap();

    let single = locks.lock_all(["a"]).acquire().await.unwrap();
    let found = single
        .run(async |_| Ok::<_, Error>(current()?.token()))
        .await;
    assert_eq!(Some(found.unwrap()), single.token("a"));
}

#[tokio::test]
async fn permits_have_no_token_and_are_skipped() {
    let locks = LockManager::in_process();
    let permit = locks.semaphore("pool", 2).acquire().await.unwrap();
    let alone = error(permit.run(async |_| current().map(drop)).await);
    assert!(matches!(alone, Some(NoCurrentLockError::OnlyPermits { key }) if key.name() == "pool"));
    let by_key = error(
        permit
            .run(async |_| current_lock_by_key("pool").map(drop))
            .await,
    );
    assert!(matches!(
        by_key,
        Some(NoCurrentLockError::OnlyPermits { .. })
    ));

    let guard = locks.lock("order").acquire().await.unwrap();
    let inside = guard.run(async |_| {
        permit
            .run(async |_| Ok::<_, Error>(current()?.token()))
            .await
    });
    assert_eq!(inside.await.unwrap(), guard.token());
}

#[tokio::test]
async fn a_spawned_task_has_the_lock_only_in_its_scope() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let (without, with) = guard
        .run(async |_| {
            let with = tokio::spawn(current()?.scope(async { current().map(|lock| lock.token()) }));
            let without = tokio::spawn(async { current().map(drop) });
            Ok::<_, Error>((without.await.unwrap(), with.await.unwrap()))
        })
        .await
        .unwrap();
    let without = error(without).unwrap();
    assert_eq!(without, NoCurrentLockError::NotHeld);
    assert!(
        without
            .to_string()
            .contains("current_lock()?.scope(future)"),
        "{without}"
    );
    assert_eq!(with.unwrap(), guard.token());
}

#[tokio::test]
async fn a_lost_lock_stays_the_current_one_and_its_check_fails() {
    let locks = LockManager::in_process();
    let guard = locks.lock("a").acquire().await.unwrap();
    let found = guard
        .handle()
        .scope(async {
            current()?.check()?;
            guard.simulate_loss();
            Ok::<_, Error>((current()?.token(), current()?.end()))
        })
        .await;
    let (token, ended) = found.unwrap();
    assert_eq!(token, guard.token());
    assert_eq!(ended.unwrap().key.name(), "a");

    let released = locks.lock("b").acquire().await.unwrap();
    let handle = released.handle();
    released.release().await.unwrap();
    assert_eq!(handle.end().unwrap().reason, EndReason::Released);
}

/// One `From<leasehold::Error>` is enough for each `?`.
#[tokio::test]
async fn a_check_of_the_lock_returns_the_error_of_the_library() {
    #[derive(Debug)]
    struct AppError(Error);

    impl From<Error> for AppError {
        fn from(error: Error) -> Self {
            Self(error)
        }
    }

    fn work(lock: &LockHandle) -> Result<(), AppError> {
        lock.check()?;
        Ok(())
    }

    let locks = LockManager::in_process();
    let guard = locks.lock("k").acquire().await.unwrap();
    work(&guard.handle()).unwrap();
    guard.simulate_loss();
    let AppError(error) = work(&guard.handle()).unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error}");
}

#[cfg(feature = "macros")]
#[tokio::test]
async fn an_annotated_function_finds_its_lock_as_the_current_one() {
    #[leasehold::distributed_lock("order:{id}", manager = locks)]
    async fn outer(locks: &LockManager, id: u64) -> Result<(String, String), Error> {
        let own = current()?.key().to_owned();
        Ok((own, inner(locks, id).await?))
    }

    #[leasehold::distributed_lock("account:{id}", manager = locks, lost = "continue")]
    async fn inner(locks: &LockManager, id: u64) -> Result<String, Error> {
        Ok(format!(
            "{} {}",
            current()?.key(),
            current_lock_by_key("order:7")?.key()
        ))
    }

    let (outer, inner) = outer(&LockManager::in_process(), 7).await.unwrap();
    assert_eq!(
        (outer.as_str(), inner.as_str()),
        ("order:7", "account:7 order:7")
    );
}

#[tokio::test]
async fn run_blocking_keeps_the_lock_and_after_a_loss_its_result() {
    let locks = LockManager::in_process();
    let ttl = Duration::from_secs(2);
    let slow = move |lock: LockHandle| {
        std::thread::sleep(ttl + ttl / 2);
        lock.check()?;
        Ok::<_, Error>(lock.token())
    };
    // The runtime of this test has one thread.
    locks.lock("a").ttl(ttl).run_blocking(slow).await.unwrap();
    assert!(locks.inspect("a").await.unwrap().is_free());

    let guard = locks.lock("a").acquire().await.unwrap();
    let lost = guard.handle();
    let result = guard.run_blocking(move |lock| {
        while lock.check().is_ok() {
            std::thread::yield_now();
        }
        Ok::<_, Error>("kept")
    });
    let lose = async {
        tokio::task::yield_now().await;
        guard.simulate_loss();
    };
    let (result, ()) = tokio::join!(result, lose);
    assert_eq!(result.unwrap(), "kept");
    assert!(!lost.is_valid());
    let late = guard.run_blocking(|_| Ok::<_, Error>(())).await;
    assert!(late.unwrap_err().is_lost());
    assert!(guard.release().await.unwrap_err().is_lost());
}

#[tokio::test]
async fn a_dropped_call_of_blocking_code_keeps_its_lock_until_the_code_ends() {
    let locks = LockManager::in_process();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (end, may_end) = std::sync::mpsc::channel::<()>();
    let call = locks.lock("a").run_blocking(move |_| {
        begun.send(()).unwrap();
        may_end.recv().unwrap();
        Ok::<_, Error>(())
    });
    let call = tokio::spawn(call);
    has_begun.await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert!(!locks.inspect("a").await.unwrap().is_free());
    end.send(()).unwrap();
    let next = locks
        .lock("a")
        .wait(Duration::from_secs(9))
        .acquire()
        .await
        .unwrap();
    next.release().await.unwrap();
}

#[tokio::test]
async fn errors_and_panics_of_blocking_code_reach_the_caller() {
    let locks = LockManager::in_process();
    let failed = locks
        .lock("a")
        .run_blocking(|_| Err::<(), _>(Error::NoRuntime))
        .await;
    assert!(matches!(failed, Err(Error::NoRuntime)));
    let other = locks.clone();
    let panicked = tokio::spawn(async move {
        other
            .lock("a")
            .run_blocking(|_| -> Result<(), Error> { std::panic::panic_any(7_u8) })
            .await
    });
    let panic = panicked.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<u8>(), Some(&7));
    let next = locks
        .lock("a")
        .wait(Duration::from_secs(9))
        .acquire()
        .await
        .unwrap();
    next.release().await.unwrap();
}
