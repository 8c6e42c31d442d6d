//! One attempt: creates its node in the queue, and finds its position.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zookeeper_client::Error;

use super::attempt_registry::{NodeLocation, RegisteredAttempt, WatchTask};
use super::context::Context;
use super::error::{ends_session, failed, failed_within};
use super::node_queue::{NodeQueue, QueuePosition};
use super::reader_token;
use super::release::{find, leave};
use super::session::{CreatedNode, Session};
use super::watch_budget::BudgetedWatch;
use super::znodes::{container, node};
use crate::FencingToken;
use crate::backend::{Attempt, AttemptAnswer, BackendError, Mode, Refusal};
use crate::clock::LeaseInstant;

/// How long a waiter that falls silent keeps its place.
const WAITER_LEASE: Duration = Duration::from_secs(6);

/// How often a waiter says that it still waits.
const REFRESH: Duration = Duration::from_secs(2);

/// After this a waiter looks again whether or not it was woken.
const WATCH_LASTS: Duration = Duration::from_secs(10);

/// How often one attempt looks again at once, when what it saw has changed meanwhile.
const LOOKS: usize = 16;

/// Where an attempt stands, once all that it had to ask was answered.
enum NodeOutcome {
    Granted(FencingToken),
    Busy,
    OtherKind,
}

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
        settle(parts, &session, &entry).await
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

/// Whether what it waits for has a watch that has not told of anything.
fn is_watching(entry: &RegisteredAttempt) -> bool {
    let facts = entry.facts.lock();
    let watch = facts.watch.as_ref();
    watch.is_some_and(|w| w.is_silent() && !w.since.after(WATCH_LASTS).has_passed())
}

/// Looks until what it saw is what is there: either it holds, which the leader has confirmed, or what it waits for is
/// watched.
async fn settle(
    parts: &Context,
    session: &Session,
    entry: &Arc<RegisteredAttempt>,
) -> Result<NodeOutcome, Error> {
    for _ in 0..LOOKS {
        let Some((own, mut queue)) = place(session, entry).await? else {
            // It was deleted by somebody else: back to the end of the line.
            continue;
        };
        let Some(position) = queue.position(own.name()) else {
            entry.facts.lock().at = NodeLocation::Nowhere;
            continue;
        };
        if let Some(watched) =
            reader_token::writer_to_watch(session, entry, &mut queue, position).await?
        {
            watch(parts, entry, watched);
            return Ok(NodeOutcome::Busy);
        }
        match queue.standing(position) {
            QueuePosition::Holds => {
                let mode = entry.facts.lock().mode;
                let token = match mode {
                    Mode::Shared => {
                        reader_token::token(session, entry, &queue, position, &own).await?
                    }
                    _ => own.created,
                };
                let token = FencingToken::try_from(token)
                    .map_err(|error| Error::UnexpectedError(error.to_string()))?;
                return Ok(NodeOutcome::Granted(token));
            }
            QueuePosition::OtherKind => return Ok(NodeOutcome::OtherKind),
            QueuePosition::Behind(before) => {
                let path = format!("{}/{}", container(&entry.key), before.name);
                if let Some((_, watched)) = session.watched_data(&path).await? {
                    watch(parts, entry, watched);
                    return Ok(NodeOutcome::Busy);
                }
            }
            QueuePosition::InTheCrowd => {
                let (queue, watched) = session.watched_queue(&container(&entry.key)).await?;
                let position = queue.position(own.name());
                if position.is_some_and(|at| queue.standing(at) == QueuePosition::InTheCrowd) {
                    watch(parts, entry, watched);
                    return Ok(NodeOutcome::Busy);
                }
            }
        }
    }
    Ok(NodeOutcome::Busy)
}

/// The attempt's node, made if there is none, and the line as it was at one moment after the leader has said that the
/// node, and so the session, was there.
async fn place(
    session: &Session,
    entry: &RegisteredAttempt,
) -> Result<Option<(CreatedNode, NodeQueue)>, Error> {
    let container = container(&entry.key);
    let (at, mode) = {
        let facts = entry.facts.lock();
        (facts.at.clone(), facts.mode)
    };
    let found = match at {
        NodeLocation::There(node) => Some(node),
        NodeLocation::Nowhere => None,
        NodeLocation::Unknown => find(session, entry).await?,
    };
    if let Some(own) = found {
        entry.facts.lock().at = NodeLocation::There(own.clone());
        let paths = [own.path.clone()];
        let (missing, queue) =
            futures_util::join!(session.first_missing(&paths), session.queue(&container));
        if missing?.is_some() {
            entry.facts.lock().at = NodeLocation::Nowhere;
            return Ok(None);
        }
        return Ok(Some((own, queue?)));
    }
    entry.facts.lock().at = NodeLocation::Unknown;
    match session.enter(&container, &node(mode, entry.owner)).await {
        Ok((own, queue)) => {
            entry.facts.lock().at = NodeLocation::There(own.clone());
            match queue {
                Ok(queue) => Ok(Some((own, queue))),
                Err(error) => Err(error),
            }
        }
        Err(error) => {
            if surely_nothing(&error) {
                entry.facts.lock().at = NodeLocation::Nowhere;
            }
            Err(error)
        }
    }
}

fn surely_nothing(error: &Error) -> bool {
    matches!(
        error,
        Error::NoAuth
            | Error::InvalidAcl
            | Error::NoNode
            | Error::QuotaExceeded
            | Error::Throttled
            | Error::NotReadOnly
    )
}

/// Wakes the attempt when the watch tells of anything, be it that the session is over.
fn watch(parts: &Context, entry: &RegisteredAttempt, watched: BudgetedWatch) {
    let wake_up = Arc::clone(&entry.wake_up);
    let has_told = Arc::<AtomicBool>::default();
    let told = Arc::clone(&has_told);
    let task = parts.link.thread().spawn(async move {
        watched.changed().await;
        told.store(true, Ordering::Release);
        wake_up.notify_one();
    });
    entry.facts.lock().watch = Some(WatchTask {
        task,
        since: LeaseInstant::now(),
        has_told,
    });
}
