//! Finds or creates the node of an attempt in the queue.

use std::sync::atomic::Ordering;

use futures_util::future::OptionFuture;
use zookeeper_client::Error;

use super::attempt_registry::{NodeLocation, RegisteredAttempt};
use super::node_names::{container, node};
use super::node_queue::NodeQueue;
use super::release::find;
use super::session::{CreatedNode, Session};

/// Returns the attempt's node, and creates the node if necessary. Also returns the queue, in its state after the leader
/// has confirmed the node, and therefore the session.
pub(super) async fn find_or_create(
    session: &Session,
    entry: &RegisteredAttempt,
) -> Result<Option<(CreatedNode, NodeQueue)>, Error> {
    let container = container(&entry.key);
    let (at, mode, is_released) = {
        let mut facts = entry.facts.lock();
        let watch = facts.watch.as_mut();
        let is_released = watch.and_then(|watch| watch.is_released.take());
        (facts.at.clone(), facts.mode, is_released)
    };
    let found = match at {
        NodeLocation::There(node) => Some(node),
        NodeLocation::Nowhere => None,
        NodeLocation::Unknown => find(session, entry).await?,
    };
    if let Some(own) = found {
        entry.facts.lock().at = NodeLocation::There(own.clone());
        // A confirmed release by this session proves that the leader knew the session when the attempt's node became
        // the first in the queue. The queue includes this release. The proof counts once: after an error, the attempt
        // checks with the leader.
        let is_confirmed = is_released.is_some_and(|it| it.load(Ordering::Acquire))
            && session.is_recently_confirmed();
        let paths = [own.path.clone()];
        let check = OptionFuture::from((!is_confirmed).then(|| session.first_missing(&paths)));
        let (missing, queue) = futures_util::join!(check, session.queue(&container));
        if missing.transpose()?.flatten().is_some() {
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
