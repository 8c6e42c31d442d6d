//! Finds or creates the node of an attempt in the queue.

use zookeeper_client::Error;

use super::attempt_registry::{NodeLocation, RegisteredAttempt};
use super::node_queue::NodeQueue;
use super::release::find;
use super::session::{CreatedNode, Session};
use super::znodes::{container, node};

/// Returns the attempt's node, and creates the node if necessary. Also returns the queue, in its state after the leader
/// has confirmed the node, and therefore the session.
pub(super) async fn find_or_create(
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
