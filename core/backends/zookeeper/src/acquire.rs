//! Creates the node of one attempt in the queue, and finds the attempt's position.

use std::time::Duration;

use super::attempt_registry::{NodeLocation, RegisteredAttempt};
use super::backend_context::Context;
use super::error::{ends_session, failed, failed_within};
use super::predecessor_watch::{NodeOutcome, hold_or_watch, is_watching};
use super::release::leave;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::{Attempt, AttemptAnswer, BackendError, Refusal};

/// The time after which a waiter that stops polling loses its position.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// The interval at which a waiter renews its position.
const REFRESH: Duration = Duration::from_secs(2);

pub(super) async fn attempt(
    parts: &Context,
    attempt: &Attempt,
    begun: LeaseInstant,
) -> Result<AttemptAnswer, BackendError> {
    // This does not await before the attempt is in the registry, because the cleanup searches the registry.
    let session = parts.link.session_at_once()?;
    let until = LeaseInstant::now().after(if attempt.queue {
        WAITER_LEASE
    } else {
        attempt.ttl
    });
    let entry = parts.registry.enter(attempt, session.number, until);
    if entry.facts.lock().mode != attempt.mode {
        return Err(BackendError::not_applied(
            "the request arrived after its lock was downgraded",
        ));
    }
    if !still_wanted(&entry, until) {
        return Err(over());
    }
    if is_watching(&entry) {
        return Ok(AttemptAnswer::Busy {
            retry_after: REFRESH,
        });
    }
    let outcome = {
        let _turn = entry.turn.lock().await;
        // The caller may have released the attempt while a duplicate request had the mutex for commands.
        if !still_wanted(&entry, until) {
            return Err(over());
        }
        hold_or_watch(parts, &session, &entry).await
    };
    match outcome {
        Ok(NodeOutcome::Granted(token)) => {
            let lease = session.lease_from(begun).min(attempt.ttl);
            // After an outage a heartbeat must first confirm the session. The waiter keeps its position during that
            // time.
            let spent = LeaseInstant::now().since(begun) + session.heartbeat_interval();
            if attempt.queue && lease < spent.min(attempt.ttl) {
                entry.facts.lock().watch = None;
                return Ok(AttemptAnswer::Busy {
                    retry_after: session.heartbeat_interval(),
                });
            }
            let mut facts = entry.facts.lock();
            if facts.leaving.is_some() {
                return Err(BackendError::unknown("the attempt ended in the meantime"));
            }
            let until = LeaseInstant::now().after(attempt.ttl);
            facts.until = until;
            facts.token = Some(token);
            facts.watch = None;
            drop(facts);
            parts.registry.ends_at(until);
            Ok(AttemptAnswer::Granted { token, lease })
        }
        Ok(NodeOutcome::Busy) if attempt.queue => Ok(AttemptAnswer::Busy {
            retry_after: REFRESH,
        }),
        Ok(NodeOutcome::Busy) => {
            leave(&parts.link, &parts.registry, &entry).await?;
            Ok(AttemptAnswer::Busy {
                retry_after: REFRESH,
            })
        }
        Ok(NodeOutcome::OtherKind) => {
            leave(&parts.link, &parts.registry, &entry).await?;
            Ok(AttemptAnswer::Refused(Refusal::OtherKind))
        }
        Err(error) => {
            // All nodes of this attempt ended with the session, or it has none. All requests run on one thread, so no
            // duplicate request creates a node before the entry is forgotten. An attempt without a turn may own the
            // candidate node.
            let has_none = entry.fair && matches!(entry.facts.lock().at, NodeLocation::Nowhere);
            if ends_session(&error) || has_none {
                parts.registry.forget(&entry);
                return Err(failed(&error));
            }
            Err(failed_within(&error))
        }
    }
}

fn over() -> BackendError {
    BackendError::not_applied("the attempt is over")
}

/// Extends the time of the attempt's position, unless the attempt is leaving. Returns false if the attempt is leaving.
fn still_wanted(entry: &RegisteredAttempt, until: LeaseInstant) -> bool {
    let mut facts = entry.facts.lock();
    if facts.leaving.is_none() {
        facts.until = facts.until.max(until);
    }
    facts.leaving.is_none()
}
