//! What is in a node's data: the token that readers share, and that a writer has become a reader.
//!
//! # Implementation details
//!
//! Readers who hold together have one token, that of the first of them, so that none refuses another. It is written
//! into each reader's node once, by itself or by whoever needs to know it sooner: the first writing counts, which the
//! node's version decides.

use zookeeper_client::{Error, OneshotWatcher};

use super::desk::Entry;
use super::line::Line;
use super::name::container;
use super::session::{Node, Session};
use crate::backend::Mode;

/// The data of a writer that has become a reader.
pub(super) const DOWNGRADED: &[u8] = b"shared";

/// The version of data that was never written.
const UNWRITTEN: Option<i32> = Some(0);

/// The token of a reader that holds.
pub(super) async fn token(
    session: &Session,
    entry: &Entry,
    line: &Line,
    position: usize,
    own: &Node,
) -> Result<i64, Error> {
    let first = line.first_reader_before(position);
    let shared = match first {
        Some(first) => {
            let path = format!("{}/{}", container(&entry.key), first.name);
            settled(session, &path, None).await?
        }
        None => None,
    };
    let wanted = shared.unwrap_or(own.created);
    let settled = settled(session, &own.path, Some(wanted)).await?;
    settled.ok_or(Error::NoNode)
}

/// The token of a reader's node, which is `wanted`, or its own, unless it was settled before. None if the node has gone.
async fn settled(session: &Session, path: &str, wanted: Option<i64>) -> Result<Option<i64>, Error> {
    let Some((data, created, _)) = session.data(path).await? else {
        return Ok(None);
    };
    if let Some(token) = read(&data) {
        return Ok(Some(token));
    }
    let wanted = wanted.unwrap_or(created);
    if session
        .write_data(path, wanted.to_string().as_bytes(), UNWRITTEN)
        .await?
    {
        return Ok(Some(wanted));
    }
    let written = session.data(path).await?;
    Ok(written.and_then(|(data, _, _)| read(&data)))
}

pub(super) fn read(data: &[u8]) -> Option<i64> {
    std::str::from_utf8(data).ok()?.parse().ok()
}

/// For a reader behind a writer at the front, which may have become a reader: a watch on it if it has not.
pub(super) async fn writer_to_watch(
    session: &Session,
    entry: &Entry,
    line: &mut Line,
    position: usize,
) -> Result<Option<OneshotWatcher>, Error> {
    let reader = entry.facts.lock().mode == Mode::Shared;
    let Some(writer) = line.writer_in_front().filter(|_| reader && position > 0) else {
        return Ok(None);
    };
    let path = format!("{}/{}", container(&entry.key), writer.name);
    if let Some((data, watched)) = session.watched_data(&path).await? {
        if data != DOWNGRADED {
            return Ok(Some(watched));
        }
        line.front_is_downgraded();
    }
    Ok(None)
}
