//! Deletes an attempt's node, and retries until the server has confirmed the deletion or the session has ended.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::attempt_registry::{AttemptRegistry, NodeLocation, RETRY, RegisteredAttempt};
use super::candidate_node;
use super::current_session::CurrentSession;
use super::error::{ends_session, failed};
use super::node_names::container;
use super::session::{CreatedNode, Session};
use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::{BackendError, Mode};
use leasehold_core::{AttemptId, Key};

/// Ends an attempt's lock or queue position. Returns whether this call deleted the attempt's node.
///
/// If this call fails, or is dropped, the reaper continues.
pub(super) async fn leave(
    link: &CurrentSession,
    registry: &AttemptRegistry,
    entry: &Arc<RegisteredAttempt>,
) -> Result<bool, BackendError> {
    let until = LeaseInstant::now().after(RETRY);
    {
        let mut facts = entry.facts.lock();
        facts.leaving.get_or_insert_with(LeaseInstant::now);
        facts.until = until;
        facts.watch = None;
    }
    registry.ends_at(until);
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
        let mut is_deleted = false;
        if let Some(node) = found {
            is_deleted = session.delete(&node.path).await?;
            let facts = entry.facts.lock();
            if facts.token.is_some() && facts.mode == Mode::Exclusive {
                node.is_released.store(true, Ordering::Release);
            }
        }
        if !entry.fair {
            candidate_node::give_up(&session, &container(&entry.key), entry.owner).await?;
        }
        Ok(is_deleted)
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

/// Finds the node of a creation without a reply. By then the server has executed all earlier requests, or will never
/// execute them. The server keeps the order of a connection, and ends a session's old connection before it accepts a
/// new one.
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

/// Works like [`leave`], for an attempt that is unknown in this process. The attempt has left, or another process
/// created it.
pub(super) async fn delete_orphans(
    link: &CurrentSession,
    key: &Key,
    owner: AttemptId,
) -> Result<bool, BackendError> {
    let session = link.session().await?;
    let container = container(key);
    let swept = async {
        let queue = session.confirmed_queue(&container).await?;
        candidate_node::give_up(&session, &container, owner).await?;
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

/// Ends attempts that no caller renews or waits for. Retries attempts that it could not end. The task stops when the
/// link is dropped.
pub(super) async fn reaper(link: Weak<CurrentSession>, registry: Arc<AttemptRegistry>) {
    loop {
        let (due, next) = registry.due();
        for entry in due {
            let Some(kept) = link.upgrade() else { return };
            let since = {
                let mut facts = entry.facts.lock();
                // The caller may have renewed the attempt since it was due. From here on the caller cannot renew the
                // attempt.
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
                    // If this fails, the attempt becomes due again.
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
