//! Recorded outcomes, tested on the `Backend` trait and through managers. Backends without the capability pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::helpers::{
    attempt, eventually, fresh_key, fresh_name, in_time, insist, short_ttl, take, take_soon,
};
use leasehold_core::backend::{Attempt, AttemptAnswer, Backend, Claim, Outcome, ReleaseAnswer};
use leasehold_core::{Error, FencingToken, Key, LockManager, OnceError};

const TTL: Duration = Duration::from_secs(30);

/// How long the cases keep outcomes that must not expire meanwhile.
const KEEP: Duration = Duration::from_secs(60);

fn once(key: &Key, ttl: Duration) -> Attempt {
    Attempt::new(key.clone(), ttl, false).once(true)
}

async fn record(backend: &impl Backend, claim: &Claim, text: &str) -> ReleaseAnswer {
    let outcome = Outcome::new(claim.token, false, text.into());
    insist(async || backend.record(claim, &outcome, KEEP).await).await
}

/// Returns the outcome that an attempt finds.
async fn find(backend: &impl Backend, key: &Key) -> Option<Outcome> {
    match insist(async || backend.attempt(&once(key, TTL)).await).await {
        AttemptAnswer::Recorded(outcome) => Some(outcome),
        _ => None,
    }
}

/// Returns a manager and a counter of executions, or `None` if the backend does not record outcomes.
async fn managers<B: Backend>(connect: &impl AsyncFn() -> B) -> Option<[LockManager; 2]> {
    let (here, there) = (connect().await, connect().await);
    let can = here.capabilities().once;
    can.then(|| [LockManager::new(here), LockManager::new(there)])
}

/// Checks that a record releases the lock, and that later attempts find the outcome. Locks on the same key do not.
pub async fn later_attempts_find_the_recorded_outcome<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().once {
        return;
    }
    let key = fresh_key("outcome");
    let holder = take(&here, &once(&key, TTL)).await;
    assert_eq!(find(&there, &key).await, None);
    assert_eq!(
        record(&here, &holder, "done").await,
        ReleaseAnswer::Released
    );
    let outcome = find(&there, &key).await.expect("an outcome");
    assert_eq!(outcome, Outcome::new(holder.token, false, b"done".into()));
    let plain = Attempt::new(key.clone(), TTL, false);
    let lock = take(&there, &plain).await;
    assert!(lock.token > holder.token);
    assert!(find(&here, &key).await.is_some());
    insist(async || there.release(&lock).await).await;
    assert!(insist(async || here.inspect(&key).await).await.is_free());
}

/// Checks that bytes of all values, and a failure, return as they were recorded.
pub async fn an_outcome_is_kept_unchanged<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().once {
        return;
    }
    let every: Vec<u8> = (0..=255).chain(*b" + - \r\n").collect();
    for (failed, bytes) in [(false, every.clone()), (true, every), (true, Vec::new())] {
        let key = fresh_key("unchanged");
        let holder = take(&here, &once(&key, TTL)).await;
        let outcome = Outcome::new(holder.token, failed, bytes);
        insist(async || here.record(&holder, &outcome, KEEP).await).await;
        assert_eq!(find(&there, &key).await, Some(outcome));
    }
}

/// Checks that a duplicate record changes nothing, and that the record of a former holder is refused.
pub async fn an_outcome_of_a_former_holder_is_refused<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().once {
        return;
    }
    let key = fresh_key("late");
    let (_, _, first) = take_soon(&here, || once(&key, short_ttl(&here))).await;
    let request = once(&key, TTL);
    eventually("the first lease ends", async || {
        attempt(&there, &request).await.is_some()
    })
    .await;
    let token = attempt(&there, &request).await.expect("a grant");
    let second = request.claim(token);
    assert!(second.token > first.token);
    assert_eq!(
        record(&here, &first, "late").await,
        ReleaseAnswer::AlreadyGone
    );
    assert_eq!(find(&here, &key).await, None);
    assert_eq!(
        record(&there, &second, "done").await,
        ReleaseAnswer::Released
    );
    assert_eq!(
        record(&there, &second, "done").await,
        ReleaseAnswer::Released
    );
    assert_eq!(
        record(&here, &first, "late").await,
        ReleaseAnswer::AlreadyGone
    );
    let outcome = find(&here, &key).await.expect("an outcome");
    assert_eq!(
        (outcome.token, &*outcome.bytes),
        (second.token, &b"done"[..])
    );
}

/// Checks that an outcome can be deleted, and that it expires.
pub async fn an_outcome_can_be_deleted_and_expires<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().once {
        return;
    }
    let key = fresh_key("retention");
    let holder = take(&here, &once(&key, TTL)).await;
    record(&here, &holder, "done").await;
    // After a lost reply, the second request finds nothing.
    insist(async || there.forget(&key).await).await;
    assert!(!insist(async || there.forget(&key).await).await);
    let request = once(&key, TTL);
    let holder = take(&here, &request).await;
    let outcome = Outcome::new(holder.token, true, b"down".into());
    let keep = Duration::from_millis(200);
    insist(async || here.record(&holder, &outcome, keep).await).await;
    eventually("the outcome expires", async || {
        attempt_or_outcome(&there, &once(&key, short_ttl(&there))).await
    })
    .await;
}

/// Returns whether the attempt was granted.
async fn attempt_or_outcome(backend: &impl Backend, request: &Attempt) -> bool {
    let answer = insist(async || backend.attempt(request).await).await;
    matches!(answer, AttemptAnswer::Granted { .. })
}

/// Checks that waiters over two connections receive the result of the holder, and that only one body runs.
pub async fn waiters_receive_the_result<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(managers) = managers(&connect).await else {
        return;
    };
    let (key, runs) = (fresh_name("waiters"), Arc::new(AtomicU32::new(0)));
    let mut tasks = JoinSet::new();
    for task in 0..20_usize {
        let (locks, key, runs) = (managers[task % 2].clone(), key.clone(), Arc::clone(&runs));
        tasks.spawn(async move {
            let body = async |_| {
                sleep(Duration::from_millis(100)).await;
                Ok::<_, Error>(runs.fetch_add(1, Ordering::Relaxed))
            };
            locks.once(&key).run(body).await.expect("a result")
        });
    }
    let results = in_time("all waiters receive the result", tasks.join_all()).await;
    assert_eq!(results, [0; 20]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let seen = loop {
        match managers[0].inspect(&key).await {
            Ok(seen) => break seen,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    };
    assert!(seen.is_free(), "{seen:?}");
}

/// Checks that waiters share a failure, and that a later caller runs its own body.
pub async fn waiters_share_a_failure<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(managers) = managers(&connect).await else {
        return;
    };
    let (key, runs) = (fresh_name("failure"), Arc::new(AtomicU32::new(0)));
    let mut tasks = JoinSet::new();
    for task in 0..20_usize {
        let (locks, key, runs) = (managers[task % 2].clone(), key.clone(), Arc::clone(&runs));
        tasks.spawn(async move {
            let body = async |_| {
                sleep(Duration::from_millis(100)).await;
                runs.fetch_add(1, Ordering::Relaxed);
                Err::<u32, Error>(Error::NoManager)
            };
            // Much longer than all waiters need to look for it.
            let once = locks.once(&key).keep_failure(Duration::from_secs(5));
            once.run(body).await.expect_err("a failure")
        });
    }
    let errors = in_time("all waiters receive the failure", tasks.join_all()).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let is_shared = |error: &&Error| {
        matches!(error, Error::Once(OnceError::Failed { message, .. })
            if *message == Error::NoManager.to_string())
    };
    assert_eq!(errors.iter().filter(is_shared).count(), 19, "{errors:?}");
    eventually("a later caller runs its own body", async || {
        let again = managers[0].once(&key).run(async |_| Ok::<_, Error>(7));
        again.await.is_ok_and(|result| result == 7)
    })
    .await;
}

/// Checks that after a crash the next caller runs its body under a larger token.
pub async fn after_a_crash_the_next_caller_runs_its_body<B: Backend>(connect: impl AsyncFn() -> B) {
    let crashed = connect().await;
    if !crashed.capabilities().once {
        return;
    }
    let key = Key::new(leasehold_core::DEFAULT_PREFIX, &fresh_name("crash")).expect("a key");
    let (_, _, holder) = take_soon(&crashed, || once(&key, short_ttl(&crashed))).await;
    let locks = LockManager::new(connect().await);
    let token = async |lock: leasehold_core::LockHandle| Ok::<_, Error>(lock.token().get());
    let token = in_time("the lease ends", locks.once(key.name()).run(token)).await;
    assert!(token.expect("a result") > holder.token.get());
    let late = record(&crashed, &holder, "late").await;
    assert_eq!(late, ReleaseAnswer::AlreadyGone);
}

/// Checks that a cancelled body, and a failure that is not shared, leave nothing: the next caller runs its body.
pub async fn without_an_outcome_the_next_caller_runs_its_body<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let Some([here, there]) = managers(&connect).await else {
        return;
    };
    let key = fresh_name("cancelled");
    let never = here.once(&key).run(async |_| {
        std::future::pending::<()>().await;
        Ok::<u32, Error>(1)
    });
    let cancelled = tokio::time::timeout(Duration::from_millis(100), never).await;
    assert!(cancelled.is_err());
    let fails = async |_| Err::<u32, Error>(Error::NoManager);
    let failed = there.once(&key).keep_failure(Duration::ZERO).run(fails);
    let failed = in_time("the lock is free", failed).await;
    assert!(matches!(failed, Err(Error::NoManager)), "{failed:?}");
    let result = here.once(&key).run(async |_| Ok::<u32, Error>(2)).await;
    assert_eq!(result.expect("a result"), 2);
}

/// Checks that the tokens of executions increase, and that each execution's result replaces the last.
pub async fn the_next_execution_has_a_larger_token<B: Backend>(connect: impl AsyncFn() -> B) {
    let Some(managers) = managers(&connect).await else {
        return;
    };
    let (key, mut last) = (fresh_name("tokens"), None::<FencingToken>);
    for round in 0..6_usize {
        // A call whose request had no reply finds its outcome with its next request.
        let keep = Duration::from_millis(300);
        let body = async |lock: leasehold_core::LockHandle| Ok::<_, Error>(lock.token().get());
        let token = managers[round % 2].once(&key).keep(keep).run(body).await;
        let token = FencingToken::try_from(token.expect("a result")).expect("a token");
        assert!(
            last.is_none_or(|last| token > last),
            "{token} after {last:?}"
        );
        last = Some(token);
        sleep(keep * 2).await;
    }
}
