//! Reads and lists the states of keys for operators.

use std::sync::Arc;

use zookeeper_client::Error;

use super::node_names::{QueueNode, candidate, container, key_of};
use super::node_queue::NodeQueue;
use super::reader_token;
use super::session::Session;
use leasehold_core::backend::{HolderInfo, Inspection, ListCursor, ListPage, Mode};
use leasehold_core::{FencingToken, Key};

/// The number of keys on one page of a list.
const PAGE: usize = 20;

/// Marks a writer that was downgraded as a reader.
async fn settled(
    session: &Session,
    container: &str,
    mut queue: NodeQueue,
) -> Result<NodeQueue, Error> {
    if let Some(writer) = queue.writer_in_front() {
        let data = session.data(&path(container, writer)).await?;
        if data.is_some_and(|(data, _, _)| data == reader_token::DOWNGRADED) {
            queue.front_is_downgraded();
        }
    }
    Ok(queue)
}

fn path(container: &str, place: &QueueNode) -> String {
    format!("{container}/{}", place.name)
}

pub(super) async fn inspect(session: &Session, key: &Key) -> Result<Inspection, Error> {
    let container = container(key);
    let queue = session.latest_queue(&container).await?;
    state(session, &container, queue).await
}

/// Returns the state of a queue.
async fn state(session: &Session, container: &str, queue: NodeQueue) -> Result<Inspection, Error> {
    let queue = settled(session, container, queue).await?;
    let mut seen = Inspection::default();
    let mut places = 0;
    for place in queue.holders() {
        places += 1;
        seen.holders += place.mode.size();
        let Some((data, created, _)) = session.data(&path(container, place)).await? else {
            continue;
        };
        let owner = place.owner.map(|owner| owner.to_string());
        let id = owner.unwrap_or_else(|| place.name.clone());
        let token = reader_token::read(&data).unwrap_or(created);
        seen.token = seen.token.max(FencingToken::try_from(token).ok());
        seen.expires_in = Some(session.timeout());
        if place.mode == Mode::Exclusive && data != reader_token::DOWNGRADED {
            seen.owner = Some(id.clone());
        }
        let holder = HolderInfo::with_id(id, place.mode.size(), Some(session.timeout()));
        seen.held_by.push(holder.labelled(place.label.clone()));
    }
    seen.waiting = queue.len() - places;
    Ok(seen)
}

/// Deletes the nodes of all holders, or of the holder with this id. Returns whether the lock had such a holder.
pub(super) async fn force(session: &Session, key: &Key, id: Option<&str>) -> Result<bool, Error> {
    let container = container(key);
    let queue = session.latest_queue(&container).await?;
    let queue = settled(session, &container, queue).await?;
    let mut held = false;
    for place in queue.holders() {
        let is_meant = |id: &str| match place.owner {
            Some(owner) => owner.to_string() == id,
            None => place.name == id,
        };
        if !id.is_none_or(is_meant) {
            continue;
        }
        held |= session.delete(&path(&container, place)).await?;
    }
    if held {
        session.delete(&candidate(&container)).await?;
    }
    Ok(held)
}

/// Returns a page of the held locks. The server has no pages, so the first page reads the names of all keys.
pub(super) async fn list(
    session: &Session,
    prefix: &str,
    cursor: Option<&ListCursor>,
) -> Result<ListPage, Error> {
    let (keys, from) = match cursor.and_then(ListCursor::position) {
        Some((keys, from)) => (Arc::clone(keys), *from),
        None => {
            let names = session.children("/").await?;
            let keys = names.iter().filter_map(|name| key_of(name));
            let keys = keys.filter(|key| key.starts_with(prefix));
            (Arc::new(keys.collect::<Vec<String>>()), 0)
        }
    };
    let end = keys.len().min(from + PAGE);
    let mut held = Vec::new();
    for full in &keys[from..end] {
        let Ok(key) = Key::new("", full) else {
            continue;
        };
        let container = container(&key);
        let queue = session.queue(&container).await?;
        if queue.len() > 0 {
            let state = state(session, &container, queue).await?;
            // Another program's nodes do not have labels.
            if state.held_by.iter().any(|holder| holder.label.is_some()) {
                held.push((full.clone(), state));
            }
        }
    }
    let next = (end < keys.len()).then(|| ListCursor::new((Arc::clone(&keys), end)));
    Ok(ListPage::new(held, next))
}
