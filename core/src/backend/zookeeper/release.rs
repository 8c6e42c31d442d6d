//! Deletes an attempt's node until that is confirmed or its session has ended.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::attempt_registry::{AttemptRegistry, NodeLocation, RegisteredAttempt};
use super::current_session::CurrentSession;
use super::error::{ends_session, failed};
use super::session::{CreatedNode, Session};
use super::znodes::container;
use crate::backend::BackendError;
use crate::clock::{self, LeaseInstant};
use crate::{Key, OwnerId};

const RETRY: Duration = Duration::from_millis(500);

/// Ends whatever an attempt has: true if this deleted its node.
///
/// If it fails, or is dropped, the steward goes on with it.
pub(super) async fn leave(
    link: &CurrentSession,
    registry: &AttemptRegistry,
    entry: &Arc<RegisteredAttempt>,
) -> Result<bool, BackendError> {
    {
        let mut facts = entry.facts.lock();
        facts.leaving.get_or_insert_with(LeaseInstant::now);
        facts.until = LeaseInstant::now().after(RETRY);
        facts.watch = None;
    }
    registry.deadline_changed.notify_one();
    let _turn = entry.turn.lock().await;
    let Some(session) = link.session_numbered(entry.session) else {
        registry.forget(entry);
        return Ok(false);
    };
    let at = entry.facts.lock().at.clone();
    let gone = async {
        let found = match at {
            NodeLocation::Nowhere => None,
            NodeLocation::There(node) => Some(node),
            NodeLocation::Unknown => find(&session, entry).await?,
        };
        match found {
            Some(node) => session.delete(&node.path).await,
            None => Ok(false),
        }
    };
    match gone.await {
        Ok(deleted) => {
            entry.facts.lock().at = NodeLocation::Nowhere;
            registry.forget(entry);
            Ok(deleted)
        }
        Err(error) if ends_session(&error) => {
            registry.forget(entry);
            Ok(false)
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Finds a node whose making was not answered. All that was sent before this is done, or never will be: the server
/// keeps the order of a connection, and ends a session's old connection before it takes a new one.
pub(super) async fn find(
    session: &Session,
    entry: &RegisteredAttempt,
) -> Result<Option<CreatedNode>, zookeeper_client::Error> {
    let container = container(&entry.key);
    let queue = session.confirmed_queue(&container).await?;
    for place in queue.places_of(entry.owner) {
        let path = format!("{container}/{}", place.name);
        if let Some(own) = session.own_node(path).await? {
            return Ok(Some(own));
        }
    }
    Ok(None)
}

/// As [`leave`], for an attempt of which this process knows nothing: it has left, or another process made it.
pub(super) async fn delete_orphans(
    link: &CurrentSession,
    key: &Key,
    owner: OwnerId,
) -> Result<bool, BackendError> {
    let session = link.session().await?;
    let container = container(key);
    let swept = async {
        let queue = session.confirmed_queue(&container).await?;
        let mut swept = false;
        for place in queue.places_of(owner) {
            swept |= session
                .delete(&format!("{container}/{}", place.name))
                .await?;
        }
        Ok(swept)
    };
    swept.await.map_err(|error| failed(&error))
}

/// Ends what nobody renews and what nobody waits for any more, and goes on with what could not be ended. Ends with the
/// link.
pub(super) async fn reaper(link: Weak<CurrentSession>, registry: Arc<AttemptRegistry>) {
    loop {
        let (due, next) = registry.due();
        for entry in due {
            let Some(kept) = link.upgrade() else { return };
            let since = {
                let mut facts = entry.facts.lock();
                // It may have been renewed since it came due; from here on it cannot be.
                if !facts.until.has_passed() {
                    continue;
                }
                facts.until = LeaseInstant::now().after(RETRY);
                *facts.leaving.get_or_insert_with(LeaseInstant::now)
            };
            let limit = kept.session_numbered(entry.session).map(|s| s.timeout());
            if limit.is_some_and(|limit| since.after(limit).has_passed()) {
                kept.give_up(entry.session);
            }
            let (link, registry) = (Arc::downgrade(&kept), Arc::clone(&registry));
            kept.thread().spawn(async move {
                if let Some(link) = link.upgrade() {
                    // If it fails, its time comes again.
                    let _gone = leave(&link, &registry, &entry).await;
                }
            });
        }
        tokio::select! {
            () = clock::at(next) => {}
            () = registry.deadline_changed.notified() => {}
        }
        if link.strong_count() == 0 {
            return;
        }
    }
}
