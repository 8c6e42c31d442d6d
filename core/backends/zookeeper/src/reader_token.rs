//! A node's data: the common fencing token of readers, and whether a writer was downgraded.
//!
//! # Implementation details
//!
//! Concurrent readers have the token of the first reader, so that a fence accepts all of them. Clients write the token
//! once into each reader's node, in the order of the queue. The reader itself writes the token, or another reader that
//! needs the token earlier. The node's version ensures that only the first write succeeds.

use zookeeper_client::Error;

use super::attempt_registry::RegisteredAttempt;
use super::node_names::container;
use super::node_queue::NodeQueue;
use super::session::{CreatedNode, Session};
use super::watch_budget::BudgetedWatch;
use leasehold_core::backend::Mode;

/// The data of a writer that was downgraded.
pub(super) const DOWNGRADED: &[u8] = b"shared";

/// The version of data that was never written.
const UNWRITTEN: Option<i32> = Some(0);

/// Returns the token of a reader that holds the lock.
///
/// Readers receive tokens in the order of the queue. So if a reader does not have a token, the readers after it do not
/// have one either. A reader uses its own token when all readers before it have left.
pub(super) async fn token(
    session: &Session,
    entry: &RegisteredAttempt,
    queue: &NodeQueue,
    position: usize,
    own: &CreatedNode,
) -> Result<i64, Error> {
    let container = container(&entry.key);
    let (mut shared, mut unsettled) = (None, Vec::new());
    for reader in queue.readers_before(position) {
        let path = format!("{container}/{}", reader.name);
        let Some((data, created, _)) = session.data(&path).await? else {
            continue;
        };
        shared = read(&data);
        if shared.is_some() {
            break;
        }
        unsettled.push((path, created));
    }
    for (path, created) in unsettled.into_iter().rev() {
        let settled = settled(session, &path, shared.unwrap_or(created)).await?;
        shared = settled.or(shared);
    }
    let settled = settled(session, &own.path, shared.unwrap_or(own.created)).await?;
    settled.ok_or(Error::NoNode)
}

/// Returns the token of a reader's node, or `None` if the node is deleted. The token is `wanted`, unless a client has
/// written another token before.
async fn settled(session: &Session, path: &str, wanted: i64) -> Result<Option<i64>, Error> {
    let written = wanted.to_string();
    if session
        .write_data(path, written.as_bytes(), UNWRITTEN)
        .await?
    {
        return Ok(Some(wanted));
    }
    let data = session.data(path).await?;
    Ok(data.and_then(|(data, _, _)| read(&data)))
}

pub(super) fn read(data: &[u8]) -> Option<i64> {
    std::str::from_utf8(data).ok()?.parse().ok()
}

/// Returns a watch on the writer at the front, for a reader behind it. Returns `None` if the first holder is a reader,
/// or a writer that was downgraded.
pub(super) async fn writer_to_watch(
    session: &Session,
    entry: &RegisteredAttempt,
    queue: &mut NodeQueue,
    position: usize,
) -> Result<Option<BudgetedWatch>, Error> {
    let reader = entry.facts.lock().mode == Mode::Shared;
    let Some(writer) = queue.writer_in_front().filter(|_| reader && position > 0) else {
        return Ok(None);
    };
    let path = format!("{}/{}", container(&entry.key), writer.name);
    if let Some((data, watched)) = session.watched_data(&path).await? {
        if data != DOWNGRADED {
            return Ok(Some(watched));
        }
        queue.front_is_downgraded();
    }
    Ok(None)
}
