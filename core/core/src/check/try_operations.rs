//! Tries each operation under a key of its own.

use std::error::Error;
use std::time::Duration;

use crate::backend::{Attempt, AttemptAnswer, BackendError};
use crate::clock::{self, LeaseInstant};
use crate::engine::bounded;
use crate::error::WithCauses;
use crate::{AttemptId, FencingToken, LockManager};

use super::Finding;

/// The TTL of the locks that the check acquires, and how long it waits for one.
const TTL: Duration = Duration::from_secs(10);

/// A slower round trip delays renewals and hand-offs noticeably.
const SLOW_ROUND_TRIP: Duration = Duration::from_millis(50);

/// A waiter that is notified is quicker, and one that polls is slower.
const SLOW_HAND_OFF: Duration = Duration::from_millis(250);

/// The pause between two looks of a waiter that is not notified.
const POLL: Duration = Duration::from_millis(500);

const EXCLUSION: &str = "exclusion";
const TOKENS: &str = "tokens (T1)";
const LIVENESS: &str = "liveness";

/// Tries the operations in order, until one of them does not work.
pub(super) async fn examine(locks: &LockManager) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(failed) = each(locks, &mut findings).await {
        findings.push(failed);
    }
    findings
}

async fn each(locks: &LockManager, findings: &mut Vec<Finding>) -> Result<(), Finding> {
    let key = format!("leasehold-check:{}", AttemptId::random());
    let lock = || locks.lock(&key).ttl(TTL).wait(TTL);

    let begun = LeaseInstant::now();
    let acquired = lock()
        .try_acquire()
        .await
        .map_err(|it| refused("acquire", &it))?;
    let Some(guard) = acquired else {
        let found = "a lock that nobody has acquired is busy";
        let remedy = "find the client that acquires keys which begin with leasehold-check:";
        return Err(Finding::failure("acquire", LIVENESS, found, remedy));
    };
    findings.push(Finding::good(
        "acquire",
        LIVENESS,
        shown(LeaseInstant::now().since(begun)),
    ));
    findings.push(round_trip(locks, &key).await?);

    let second = lock()
        .try_acquire()
        .await
        .map_err(|it| refused("acquire", &it))?;
    findings.push(match second {
        None => Finding::good("exclusion", EXCLUSION, "a second client is refused"),
        Some(_) => Finding::failure(
            "exclusion",
            EXCLUSION,
            "a second client has the same lock",
            "let all clients reach the same server, not one of several",
        ),
    });
    guard.renew().await.map_err(|it| refused("renew", &it))?;
    findings.push(Finding::good("renew", LIVENESS, "a lease can be renewed"));
    guard
        .release()
        .await
        .map_err(|it| refused("release", &it))?;
    findings.push(Finding::good("release", LIVENESS, "a lock can be released"));
    let handed = hand_off(locks, &key).await;
    findings.extend(handed.map_err(|it| refused("hand-off", &it))?);
    if locks.capabilities().list {
        findings.push(list(locks, &key).await);
    }
    Ok(())
}

async fn round_trip(locks: &LockManager, key: &str) -> Result<Finding, Finding> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = LeaseInstant::now();
        let inspected = locks.inspect(key).await;
        inspected.map_err(|it| refused("inspect", &it))?;
        times.push(LeaseInstant::now().since(begun));
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    let remedy = "use a server near the clients, or a TTL of at least a hundred round trips";
    Ok(Finding::good("round trip", LIVENESS, shown(median))
        .warning_if(median > SLOW_ROUND_TRIP, remedy))
}

/// Lets one client wait for another. The requests go to the backend itself, because the manager hands a lock over within
/// the process.
async fn hand_off(locks: &LockManager, key: &str) -> Result<[Finding; 2], BackendError> {
    let key = locks.key(key);
    let key = key.map_err(|it| BackendError::not_applied(it.to_string()))?;
    let (first, second) = (
        Attempt::new(key.clone(), TTL, false),
        Attempt::new(key, TTL, true),
    );
    let handed = hand_off_to(&first, &second, locks).await;
    if handed.is_err() {
        let engine = locks.engine();
        for attempt in [&second, &first] {
            // An attempt that is left ends after its TTL.
            drop(bounded(engine.limits.command, engine.backend().cleanup(attempt)).await);
        }
    }
    handed
}

async fn hand_off_to(
    first: &Attempt,
    second: &Attempt,
    locks: &LockManager,
) -> Result<[Finding; 2], BackendError> {
    let engine = locks.engine();
    let (backend, limit) = (engine.backend(), engine.limits.command);
    let AttemptAnswer::Granted { token, .. } = bounded(limit, backend.attempt(first)).await? else {
        return Err(BackendError::not_applied(
            "a lock that was released is busy",
        ));
    };
    bounded(limit, backend.attempt(second)).await?;
    let waited = async {
        let end = LeaseInstant::now().after(TTL);
        while !end.has_passed() {
            // A notification is a hint, so a waiter looks again after a while.
            drop(bounded(POLL, backend.wait(second)).await);
            let answer = bounded(limit, backend.attempt(second)).await?;
            if let AttemptAnswer::Granted { token, .. } = answer {
                return Ok((token, LeaseInstant::now()));
            }
        }
        Err(BackendError::not_applied(
            "a waiter does not get a lock that was released",
        ))
    };
    let released = async {
        // The waiter waits before the release.
        clock::sleep_until(LeaseInstant::now().after(POLL / 10)).await;
        let begun = LeaseInstant::now();
        bounded(limit, backend.release(&first.claim(token))).await?;
        Ok::<_, BackendError>(begun)
    };
    let (waited, released) = futures_util::join!(waited, released);
    let ((next, granted), begun) = (waited?, released?);
    bounded(limit, backend.release(&second.claim(next))).await?;
    Ok([latency(granted.since(begun)), order(token, next)])
}

fn latency(took: Duration) -> Finding {
    let found = format!("a waiter got the lock {} after its release", shown(took));
    let remedy = "let the server notify waiters: allow the user its channels, and connect past poolers that do not forward \
                  notifications";
    Finding::good("hand-off", LIVENESS, found).warning_if(took > SLOW_HAND_OFF, remedy)
}

fn order(token: FencingToken, next: FencingToken) -> Finding {
    match next > token {
        true => Finding::good("tokens", TOKENS, "the next token is larger"),
        false => Finding::failure(
            "tokens",
            TOKENS,
            format!("{next} follows {token}"),
            "let no other program delete or change the keys of the locks",
        ),
    }
}

async fn list(locks: &LockManager, key: &str) -> Finding {
    match locks.list(key).next().await {
        Ok(_) => Finding::good("list", LIVENESS, "held locks can be listed"),
        Err(error) => Finding::warning(
            "list",
            LIVENESS,
            WithCauses(&error).to_string(),
            "only `list` and `watch` need this permission",
        ),
    }
}

/// Returns the finding of an operation that failed. The error contains its remedy.
fn refused(operation: &'static str, error: &(dyn Error + 'static)) -> Finding {
    let remedy = "the locks do not work before this is changed";
    Finding::failure(operation, LIVENESS, WithCauses(error).to_string(), remedy)
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}
