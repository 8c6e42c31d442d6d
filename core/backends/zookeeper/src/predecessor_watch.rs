//! Finds out whether an attempt's node holds the lock, and otherwise watches the node for which the attempt waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;
use zookeeper_client::Error;

use super::attempt_registry::{NodeLocation, RegisteredAttempt, WatchTask};
use super::backend_context::Context;
use super::candidate_node::{self, LOOKS};
use super::node_creation::find_or_create;
use super::node_names::container;
use super::node_queue::QueuePosition;
use super::reader_token;
use super::session::Session;
use super::watch_budget::BudgetedWatch;
use leasehold_core::FencingToken;
use leasehold_core::backend::Mode;
use leasehold_core::backend::support::clock::LeaseInstant;

/// The time after which a waiter checks again even without a notification.
const WATCH_LASTS: Duration = Duration::from_secs(10);

/// The state of an attempt after the replies to all its requests.
pub(super) enum NodeOutcome {
    Granted(FencingToken),
    Busy,
    OtherKind,
}

/// Returns whether the attempt has a recent watch, which has not fired, on the node for which the attempt waits.
pub(super) fn is_watching(entry: &RegisteredAttempt) -> bool {
    let facts = entry.facts.lock();
    let watch = facts.watch.as_ref();
    watch.is_some_and(|w| w.is_silent() && !w.since.after(WATCH_LASTS).has_passed())
}

/// Checks until the state is consistent. The state is consistent if the leader has confirmed the lock, or if the
/// attempt has a watch on the node for which it waits.
pub(super) async fn hold_or_watch(
    parts: &Context,
    session: &Session,
    entry: &Arc<RegisteredAttempt>,
) -> Result<NodeOutcome, Error> {
    let container = container(&entry.key);
    for _ in 0..LOOKS {
        // An attempt without a turn creates no node while the lock is held, and watches the holder's node. If the lock
        // is free, the attempt first creates the candidate node, and then its own node.
        let has_node = !matches!(entry.facts.lock().at, NodeLocation::Nowhere);
        if !entry.fair && !has_node {
            let queue = session.queue(&container).await?;
            let watched = match queue.first() {
                Some(first) if !first.mode.is_like(Mode::Exclusive) => {
                    return Ok(NodeOutcome::OtherKind);
                }
                Some(first) => {
                    let path = format!("{container}/{}", first.name);
                    let Some((_, watched)) = session.watched_data(&path).await? else {
                        continue;
                    };
                    Some(watched)
                }
                None => candidate_node::claim(session, entry, &container).await?,
            };
            if let Some(watched) = watched {
                watch(parts, entry, watched, None);
                return Ok(NodeOutcome::Busy);
            }
        }
        let Some((own, mut queue)) = find_or_create(session, entry).await? else {
            // Another client deleted the attempt's node, so the attempt queues again at the end of the queue.
            continue;
        };
        let Some(position) = queue.position(own.name()) else {
            entry.facts.lock().at = NodeLocation::Nowhere;
            continue;
        };
        if let Some(watched) =
            reader_token::writer_to_watch(session, entry, &mut queue, position).await?
        {
            watch(parts, entry, watched, None);
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
            QueuePosition::Behind(_) if !entry.fair => {
                session.delete(&own.path).await?;
                candidate_node::give_up(session, &container, entry.owner).await?;
                entry.facts.lock().at = NodeLocation::Nowhere;
            }
            QueuePosition::Behind(before) => {
                let path = format!("{container}/{}", before.name);
                let is_released = parts.registry.release_mark(session.number, before);
                if let Some((_, watched)) = session.watched_data(&path).await? {
                    watch(parts, entry, watched, is_released);
                    return Ok(NodeOutcome::Busy);
                }
            }
            QueuePosition::InTheCrowd => {
                let (queue, watched) = session.watched_queue(&container).await?;
                let position = queue.position(own.name());
                if position.is_some_and(|at| queue.standing(at) == QueuePosition::InTheCrowd) {
                    watch(parts, entry, watched, None);
                    return Ok(NodeOutcome::Busy);
                }
            }
        }
    }
    Ok(NodeOutcome::Busy)
}

/// Wakes the attempt when the watch fires, or when the session has ended.
fn watch(
    parts: &Context,
    entry: &RegisteredAttempt,
    watched: BudgetedWatch,
    is_released: Option<Arc<AtomicBool>>,
) {
    let wake_up = Arc::clone(&entry.wake_up);
    let has_fired = Arc::<AtomicBool>::default();
    let fired = Arc::clone(&has_fired);
    let task = parts.link.thread().spawn(async move {
        watched.changed().await;
        fired.store(true, Ordering::Release);
        wake_up.notify_one();
    });
    entry.facts.lock().watch = Some(WatchTask {
        _task: AbortOnDropHandle::new(task),
        since: LeaseInstant::now(),
        has_fired,
        is_released,
    });
}
