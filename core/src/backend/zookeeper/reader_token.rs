//! A node's data: the fencing token that readers share, and whether a writer was downgraded.
//!
//! # Implementation details
//!
//! Readers who hold together have one token, that of the first of them, so that none refuses another. It is written
//! into each reader's node once, by itself or by whoever needs to know it sooner, and in the order of the line: the
//! first writing counts, which the node's version decides.

use zookeeper_client::Error;

use super::attempt_registry::RegisteredAttempt;
use super::node_queue::NodeQueue;
use super::session::{CreatedNode, Session};
use super::watch_budget::BudgetedWatch;
use super::znodes::container;
use crate::backend::Mode;

/// The data of a writer that has become a reader.
pub(super) const DOWNGRADED: &[u8] = b"shared";

/// The version of data that was never written.
const UNWRITTEN: Option<i32> = Some(0);

/// The token of a reader that holds.
///
/// Tokens are settled in the order of the line: then who is not settled has nobody behind it who is, and may take a
/// token of its own when all before it have gone.
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

/// The token of a reader's node, which is `wanted`, unless it was settled before. None if the node has gone.
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

/// For a reader behind a writer at the front, which may have become a reader: a watch on it if it has not.
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
