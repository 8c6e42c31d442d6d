//! Reads the state of a key for operators.

use zookeeper_client::Error;

use super::node_queue::NodeQueue;
use super::reader_token;
use super::session::Session;
use super::znodes::{QueueNode, container};
use crate::backend::{Inspection, Mode};
use crate::{FencingToken, Key};

/// Returns the queue, as the leader has it. A writer that was downgraded counts as a reader.
async fn queue(session: &Session, container: &str) -> Result<NodeQueue, Error> {
    let mut queue = session.latest_queue(container).await?;
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
    let queue = queue(session, &container).await?;
    let mut seen = Inspection::default();
    let mut places = 0;
    for place in queue.holders() {
        places += 1;
        seen.holders += place.mode.size();
        let Some((data, created, _)) = session.data(&path(&container, place)).await? else {
            continue;
        };
        let token = reader_token::read(&data).unwrap_or(created);
        seen.token = seen.token.max(FencingToken::try_from(token).ok());
        seen.expires_in = Some(session.timeout());
        if place.mode == Mode::Exclusive && data != reader_token::DOWNGRADED {
            let owner = place.owner.map(|owner| owner.to_string());
            seen.owner = owner.or_else(|| Some(place.name.clone()));
        }
    }
    seen.waiting = queue.len() - places;
    Ok(seen)
}

/// Deletes the nodes of all holders. Returns whether the lock had a holder.
pub(super) async fn force(session: &Session, key: &Key) -> Result<bool, Error> {
    let container = container(key);
    let queue = queue(session, &container).await?;
    let mut held = false;
    for place in queue.holders() {
        held |= session.delete(&path(&container, place)).await?;
    }
    Ok(held)
}
