//! Helpers of the suite.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Claim, Handover, HandoverSecret, Refusal,
    RenewAnswer,
};
use leasehold_core::{AttemptId, FencingToken, Key};

/// The time limit of a case, which is long enough for any backend on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest TTL of [`until_in_time`].
const LONGEST_TTL: Duration = Duration::from_millis(4_800);

/// Returns a key that no other case, and no other run, uses.
pub(super) fn fresh_key(case: &str) -> Key {
    Key::new("conformance:", &fresh_name(case)).expect("a case's name is a valid key")
}

pub(super) fn fresh_name(case: &str) -> String {
    format!("{case}:{}", AttemptId::random())
}

/// Retries a command on temporary errors, as a manager would.
pub(super) async fn insist<T>(mut command: impl AsyncFnMut() -> Result<T, BackendError>) -> T {
    let started = Instant::now();
    loop {
        match command().await {
            Ok(answer) => return answer,
            Err(error) => {
                let may_end = error.is_temporary() && started.elapsed() < PATIENCE;
                assert!(may_end, "the backend fails permanently: {error}");
            }
        }
        sleep(Duration::from_millis(1)).await;
    }
}

/// Retries a command on temporary errors. Returns `None` if its reply does not come before `end`.
pub(super) async fn before<T>(
    end: Instant,
    mut command: impl AsyncFnMut() -> Result<T, BackendError>,
) -> Option<T> {
    while Instant::now() < end {
        match command().await {
            Ok(answer) => return (Instant::now() < end).then_some(answer),
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
        sleep(Duration::from_millis(1)).await;
    }
    None
}

/// Returns the reply to one attempt: the token, or `None` if the lock is busy.
pub(super) async fn attempt(backend: &impl Backend, attempt: &Attempt) -> Option<FencingToken> {
    match insist(async || backend.attempt(attempt).await).await {
        AttemptAnswer::Granted { token, lease } => {
            assert!(
                lease <= attempt.ttl,
                "granted {lease:?} for a ttl of {:?}",
                attempt.ttl
            );
            Some(token)
        }
        AttemptAnswer::Busy { .. } => None,
        other => panic!("`{}`: {other:?}", attempt.key),
    }
}

/// Acquires a free lock.
pub(super) async fn take(backend: &impl Backend, request: &Attempt) -> Claim {
    let token = attempt(backend, request).await;
    request.claim(token.expect("the lock should have been free"))
}

/// Acquires a free lock with a short TTL, and returns when the lock was requested. If the grant does not come well
/// within the TTL, which may happen on a busy machine, another attempt follows.
pub(super) async fn take_soon(
    backend: &impl Backend,
    request: impl Fn() -> Attempt,
) -> (Instant, Attempt, Claim) {
    let granted = async {
        loop {
            let (request, sent) = (request(), Instant::now());
            match backend.attempt(&request).await {
                Ok(AttemptAnswer::Granted { token, .. }) if sent.elapsed() < request.ttl / 3 => {
                    let claim = request.claim(token);
                    return (sent, request, claim);
                }
                Ok(_) => {}
                Err(error) => assert!(error.is_temporary(), "{error}"),
            }
            insist(async || backend.cleanup(&request).await).await;
        }
    };
    in_time("a free lock is granted within a part of its TTL", granted).await
}

/// Returns the reason why an attempt was refused; `None` if it was not refused.
pub(super) async fn refusal(backend: &impl Backend, request: &Attempt) -> Option<Refusal> {
    match insist(async || backend.attempt(request).await).await {
        AttemptAnswer::Refused(refusal) => Some(refusal),
        _ => None,
    }
}

/// Registers a handover of a held lock, and returns it.
pub(super) async fn hand_over(backend: &impl Backend, claim: &Claim) -> Handover {
    let secret = HandoverSecret::random();
    let reply = insist(async || backend.hand_over(claim, secret).await).await;
    assert!(matches!(reply, RenewAnswer::Extended { .. }), "{reply:?}");
    Handover::new(claim, secret)
}

/// Attempts and waits, as a manager does, until the lock is granted.
pub(super) async fn queue_for(backend: &impl Backend, request: &Attempt) -> Claim {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match insist(async || backend.attempt(request).await).await {
            AttemptAnswer::Granted { token, .. } => return request.claim(token),
            AttemptAnswer::Busy { retry_after } => {
                // Attempt again even if `wait` fails or times out.
                let _hint = tokio::time::timeout(retry_after, backend.wait(request)).await;
            }
            other => panic!("`{}`: {other:?}", request.key),
        }
    }
    panic!("`{}` was not granted within {PATIENCE:?}", request.key);
}

/// Polls until `look` returns true.
pub(super) async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !look().await {
        assert!(
            started.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        sleep(Duration::from_millis(5)).await;
    }
}

/// Repeats a round until all of its requests were in time. Each repetition has a longer TTL, so that a busy machine
/// completes a round, too.
pub(super) async fn until_in_time(mut ttl: Duration, round: impl AsyncFn(Duration) -> bool) {
    let rounds = async {
        while !round(ttl).await {
            ttl = (ttl * 2).min(LONGEST_TTL);
        }
    };
    in_time("all requests of a round are in time", rounds).await;
}

pub(super) async fn in_time<T>(what: &str, task: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, task).await {
        Ok(answer) => answer,
        Err(_elapsed) => panic!("not within {PATIENCE:?}: {what}"),
    }
}

/// Returns a short TTL, so that a case can wait for the end of the lease.
pub(super) fn short_ttl(backend: &impl Backend) -> Duration {
    backend
        .capabilities()
        .least_ttl
        .max(Duration::from_millis(300))
}
