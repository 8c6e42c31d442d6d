//! Lists the locks that a majority of the nodes holds, without a command that takes long.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::Pipeline;

use super::Redlock;
use super::inspect::inspect_all;
use super::majority_count::{majority, no_quorum};
use super::quorum_node::QuorumNode;
use crate::list_locks::{found_keys, length, may_be_owner, scan};
use leasehold_core::Key;
use leasehold_core::backend::{BackendError, Inspection, ListCursor, ListPage};

/// The position of a page.
#[derive(Debug, Clone, Default)]
struct Position {
    /// A node, and the node's own cursor.
    at: (usize, u64),
    /// The nodes of which all keys have been visited.
    visited: Vec<usize>,
    /// The locks of all pages before the last page.
    listed: Arc<Mutex<HashSet<String>>>,
    /// The locks of the last page. The manager has received this page if it requests the next page.
    last: Vec<String>,
}

impl Redlock {
    /// Returns a page of the list. Each majority contains one of the nodes whose keys the list visits.
    pub(super) async fn page(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let mut position: Position = cursor
            .and_then(ListCursor::position)
            .cloned()
            .unwrap_or_default();
        let last = mem::take(&mut position.last);
        position.listed.lock().extend(last);
        let (begun, at) = position.at;
        let unvisited = |it: &&Arc<QuorumNode>| !position.visited.contains(&it.place);
        let unvisited = self.members.iter().filter(unvisited);
        let (first, others): (Vec<_>, Vec<_>) = unvisited.partition(|it| it.place == begun);
        let mut failures = Vec::new();
        for member in first.into_iter().chain(others) {
            let from = if member.place == begun { at } else { 0 };
            match self.visit(member, prefix, from).await {
                Ok((cursor, keys)) => {
                    position.at = (member.place, cursor);
                    if cursor == 0 {
                        position.visited.push(member.place);
                    }
                    return self.page_of(position, keys).await;
                }
                Err(error) => failures.push((member.place, error)),
            }
        }
        Err(no_quorum(&self.members, position.visited.len(), failures))
    }

    /// Returns the next keys of a node that may be locks, and the node's next cursor.
    async fn visit(
        &self,
        member: &QuorumNode,
        prefix: &str,
        cursor: u64,
    ) -> Result<(u64, Vec<Key>), BackendError> {
        let limit = self.settings.node_timeout;
        let found = member.call(limit, &scan(prefix, cursor)).await?;
        let (cursor, found) = found_keys(found)?;
        let mut keys = Vec::new();
        if found.is_empty() {
            return Ok((cursor, keys));
        }
        let mut lengths = Pipeline::with_capacity(found.len());
        for key in &found {
            lengths.add_command(length(key));
        }
        let lengths = member.call_all(limit, &lengths, found.len()).await?;
        for (key, length) in found.into_iter().zip(lengths) {
            if may_be_owner(&length?) {
                keys.push(key);
            }
        }
        Ok((cursor, keys))
    }

    /// Returns the page with those of these keys on which a majority has a lock, except for locks of earlier pages.
    async fn page_of(
        &self,
        mut position: Position,
        mut keys: Vec<Key>,
    ) -> Result<ListPage, BackendError> {
        let mut locks: Vec<(String, Inspection)> = Vec::new();
        {
            let (listed, mut on_page) = (position.listed.lock(), HashSet::new());
            keys.retain(|key| !listed.contains(key.full()) && on_page.insert(key.clone()));
        }
        if !keys.is_empty() {
            let limit = self.settings.node_timeout;
            let replies = inspect_all(&self.members, &keys, limit).await;
            for (key, replies) in keys.iter().zip(replies) {
                if replies.are_of_another_type(&self.members) {
                    continue;
                }
                let state = replies.state(&self.members)?;
                // The owner of another program does not have a label.
                if state.held_by.iter().any(|holder| holder.label.is_some()) {
                    locks.push((key.full().to_owned(), state));
                }
            }
        }
        position.last = locks.iter().map(|(key, _)| key.clone()).collect();
        let needed = self.members.len() - majority(self.members.len()) + 1;
        let is_over = position.visited.len() >= needed;
        let next = (!is_over).then(|| ListCursor::new(position));
        Ok(ListPage::new(locks, next))
    }
}
