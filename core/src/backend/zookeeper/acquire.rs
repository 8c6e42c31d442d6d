//! One attempt: creates its node in the queue, and finds its position.

use std::time::Duration;

use super::attempt_registry::{NodeLocation, RegisteredAttempt};
use super::context::Context;
use super::error::{ends_session, failed, failed_within};
use super::predecessor_watch::{NodeOutcome, hold_or_watch, is_watching};
use super::release::leave;
use crate::backend::{Attempt, AttemptAnswer, BackendError, Refusal};
use crate::clock::LeaseInstant;

/// How long a waiter that falls silent keeps its place.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// How often a waiter says that it still waits.
const REFRESH: Duration = Duration::from_secs(2);

pub(super) async fn attempt(
    parts: &Context,
    attempt: &Attempt,
    begun: LeaseInstant,
) -> Result<AttemptAnswer, BackendError> {
    // Nothing is waited for until this is at the desk, where who cleans up looks for it.
    let session = parts.link.session_at_once()?;
    let until = LeaseInstant::now().after(if attempt.queue {
        WAITER_LEASE
    } else {
        attempt.ttl
    });
    let entry = parts.registry.enter(attempt, session.number, until);
    if entry.facts.lock().mode != attempt.mode {
        return Err(BackendError::not_applied(
            "a request came after the lock that it made was downgraded",
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
        // It may have left while another copy of the request had the turn.
        if !still_wanted(&entry, until) {
            return Err(over());
        }
        hold_or_watch(parts, &session, &entry).await
    };
    match outcome {
        Ok(NodeOutcome::Granted(token)) => {
            let lease = session.lease_from(begun).min(attempt.ttl);
            // After an outage the session has to prove itself first. Who has waited does not lose the place for it.
            let spent = LeaseInstant::now().since(begun) + session.heartbeat_interval();
            if attempt.queue && lease < spent.min(attempt.ttl) {
                entry.facts.lock().watch = None;
                return Ok(AttemptAnswer::Busy {
                    retry_after: session.heartbeat_interval(),
                });
            }
            let mut facts = entry.facts.lock();
            if facts.leaving.is_some() {
                return Err(BackendError::unknown(
                    "the attempt came to its end meanwhile",
                ));
            }
            facts.until = LeaseInstant::now().after(attempt.ttl);
            facts.token = Some(token);
            facts.watch = None;
            drop(facts);
            parts.registry.deadline_changed.notify_one();
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
            // With the session all went that this may have left.
            if ends_session(&error) || matches!(entry.facts.lock().at, NodeLocation::Nowhere) {
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

/// Keeps the attempt's place for a while longer, unless it is on its way out.
fn still_wanted(entry: &RegisteredAttempt, until: LeaseInstant) -> bool {
    let mut facts = entry.facts.lock();
    if facts.leaving.is_none() {
        facts.until = facts.until.max(until);
    }
    facts.leaving.is_none()
}
