//! Going away: a node is deleted until that is confirmed, or its session is over.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::desk::{Desk, Entry, Whereabouts};
use super::failure::{ends_session, failed};
use super::link::Link;
use super::name::container;
use super::session::{Node, Session};
use crate::backend::BackendError;
use crate::clock::{self, Moment};
use crate::{Key, OwnerId};

const RETRY: Duration = Duration::from_millis(500);

/// Ends whatever an attempt has: true if this deleted its node.
///
/// If it fails, or is dropped, the steward goes on with it.
pub(super) async fn leave(
    link: &Link,
    desk: &Desk,
    entry: &Arc<Entry>,
) -> Result<bool, BackendError> {
    {
        let mut facts = entry.facts.lock();
        facts.leaving.get_or_insert_with(Moment::now);
        facts.until = Moment::now().after(RETRY);
        facts.watch = None;
    }
    desk.sooner.notify_one();
    let _turn = entry.turn.lock().await;
    let Some(session) = link.session_numbered(entry.session) else {
        desk.forget(entry);
        return Ok(false);
    };
    let at = entry.facts.lock().at.clone();
    let gone = async {
        let found = match at {
            Whereabouts::Nowhere => None,
            Whereabouts::There(node) => Some(node),
            Whereabouts::Unknown => find(&session, entry).await?,
        };
        match found {
            Some(node) => session.delete(&node.path).await,
            None => Ok(false),
        }
    };
    match gone.await {
        Ok(deleted) => {
            entry.facts.lock().at = Whereabouts::Nowhere;
            desk.forget(entry);
            Ok(deleted)
        }
        Err(error) if ends_session(&error) => {
            desk.forget(entry);
            Ok(false)
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Finds a node whose making was not answered. All that was sent before this is done, or never will be: the server
/// keeps the order of a connection, and ends a session's old connection before it takes a new one.
pub(super) async fn find(
    session: &Session,
    entry: &Entry,
) -> Result<Option<Node>, zookeeper_client::Error> {
    let container = container(&entry.key);
    let line = session.confirmed_line(&container).await?;
    for place in line.places_of(entry.owner) {
        let path = format!("{container}/{}", place.name);
        if let Some(own) = session.own_node(path).await? {
            return Ok(Some(own));
        }
    }
    Ok(None)
}

/// As [`leave`], for an attempt of which this process knows nothing: it has left, or another process made it.
pub(super) async fn sweep(link: &Link, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
    let session = link.session().await?;
    let container = container(key);
    let swept = async {
        let line = session.confirmed_line(&container).await?;
        let mut swept = false;
        for place in line.places_of(owner) {
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
pub(super) async fn steward(link: Weak<Link>, desk: Arc<Desk>) {
    loop {
        let (due, next) = desk.due();
        for entry in due {
            let Some(kept) = link.upgrade() else { return };
            let since = {
                let mut facts = entry.facts.lock();
                // It may have been renewed since it came due; from here on it cannot be.
                if !facts.until.has_passed() {
                    continue;
                }
                facts.until = Moment::now().after(RETRY);
                *facts.leaving.get_or_insert_with(Moment::now)
            };
            let limit = kept.session_numbered(entry.session).map(|s| s.timeout());
            if limit.is_some_and(|limit| since.after(limit).has_passed()) {
                kept.give_up(entry.session);
            }
            let (link, desk) = (Arc::downgrade(&kept), Arc::clone(&desk));
            kept.thread().spawn(async move {
                if let Some(link) = link.upgrade() {
                    // If it fails, its time comes again.
                    let _gone = leave(&link, &desk, &entry).await;
                }
            });
        }
        tokio::select! {
            () = clock::at(next) => {}
            () = desk.sooner.notified() => {}
        }
        if link.strong_count() == 0 {
            return;
        }
    }
}
