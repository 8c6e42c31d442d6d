//! Reads the state of a key from a majority.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};

use super::majority_count::{majority, no_quorum};
use super::node_scripts;
use super::pending_node_requests::NodeRequests;
use super::quorum_node::QuorumNode;
use crate::error::is_of_another_type;
use crate::protocol::inspection::info;
use crate::protocol::reply::{self, millis};
use leasehold_core::backend::{BackendError, Inspection};
use leasehold_core::{FencingToken, Key};

/// Returns the holder of a key according to a majority.
pub(super) async fn inspect(
    members: &[Arc<QuorumNode>],
    key: &Key,
    limit: Duration,
) -> Result<Inspection, BackendError> {
    let mut replies = inspect_all(members, std::slice::from_ref(key), limit).await;
    replies.pop().unwrap_or_default().state(members)
}

/// Asks all nodes about each key.
pub(super) async fn inspect_all(
    members: &[Arc<QuorumNode>],
    keys: &[Key],
    limit: Duration,
) -> Vec<Replies> {
    let commands = keys.iter().map(node_scripts::inspect).collect();
    ask_all(members, commands, limit).await
}

/// Returns the state of a key according to these views of the nodes.
fn elected(nodes: usize, views: &[NodeView]) -> Inspection {
    let needed = majority(nodes);
    let named_by = |owner: &[u8]| views.iter().filter(|it| it.owner == owner).count();
    let elected = views.iter().map(|it| it.owner.as_slice());
    let elected = elected
        .filter(|it| !it.is_empty() && named_by(it) >= needed)
        .max();
    let (mut tokens, mut lefts) = (Vec::new(), Vec::new());
    for view in views
        .iter()
        .filter(|it| Some(it.owner.as_slice()) == elected)
    {
        tokens.extend(view.token);
        lefts.extend(view.left);
    }
    tokens.sort_unstable();
    lefts.sort_unstable();
    let mut waiting: Vec<usize> = views.iter().map(|it| it.waiting).collect();
    waiting.sort_unstable();
    // The majority ends when the first of its leases ends.
    let left = lefts.len().checked_sub(needed).map(|it| lefts[it]);
    let holder = elected.map(|owner| info(owner, 1, left));
    // All nodes of a majority have the same token.
    let token = common(&tokens, needed).and_then(|it| FencingToken::try_from(it).ok());
    let mut seen = Inspection::default();
    seen.owner = holder.as_ref().map(|holder| holder.id.clone());
    seen.token = token;
    seen.granted_at = token.map(FencingToken::generated_at);
    seen.expires_in = left;
    seen.holders = usize::from(elected.is_some());
    seen.held_by = holder.into_iter().collect();
    seen.waiting = waiting[waiting.len().saturating_sub(needed)];
    seen
}

/// Takes a lock from its holder if the holder has this id. A lock has one holder, so this is a forced release.
pub(super) async fn force_release_holder(
    members: &[Arc<QuorumNode>],
    key: &Key,
    id: &str,
    limit: Duration,
) -> Result<bool, BackendError> {
    let seen = inspect(members, key, limit).await?;
    match seen.owner.is_some_and(|owner| owner == id) {
        true => force_release(members, key, limit).await,
        false => Ok(false),
    }
}

/// Takes a lock from its holder on every reachable node. Returns false only if the lock definitely had no majority.
pub(super) async fn force_release(
    members: &[Arc<QuorumNode>],
    key: &Key,
    limit: Duration,
) -> Result<bool, BackendError> {
    let mut replies = ask_all(members, vec![node_scripts::force_release(key)], limit).await;
    let answers = replies.pop().unwrap_or_default().of_majority(members)?;
    let held = answers.into_iter().map(reply::read::<u8>);
    let held = held.collect::<Result<Vec<_>, _>>()?;
    let free = held.iter().filter(|held| **held == 0).count();
    Ok(members.len() - free >= majority(members.len()))
}

/// The replies of the nodes to one command.
#[derive(Debug, Default)]
pub(super) struct Replies {
    answers: Vec<Value>,
    failures: Vec<(usize, BackendError)>,
}

impl Replies {
    /// Returns the replies. Returns an error if fewer nodes than a majority have replied.
    fn of_majority(self, members: &[Arc<QuorumNode>]) -> Result<Vec<Value>, BackendError> {
        match self.answers.len() < majority(members.len()) {
            true => Err(no_quorum(members, self.answers.len(), self.failures)),
            false => Ok(self.answers),
        }
    }

    /// Returns the state of the key that these replies are about.
    pub(super) fn state(self, members: &[Arc<QuorumNode>]) -> Result<Inspection, BackendError> {
        let views = self.of_majority(members)?.into_iter().map(view);
        Ok(elected(
            members.len(),
            &views.collect::<Result<Vec<_>, _>>()?,
        ))
    }

    /// Returns whether no majority can hold the lock, because the key holds data of another type on too many nodes.
    pub(super) fn are_of_another_type(&self, members: &[Arc<QuorumNode>]) -> bool {
        let failures = self.failures.iter();
        let others = failures.filter(|(_, error)| is_of_another_type(error));
        others.count() > members.len() - majority(members.len())
    }
}

/// The state of a key on one node.
#[derive(Debug)]
struct NodeView {
    /// The holder is in raw bytes, because the ids of other programs may be any bytes.
    owner: Vec<u8>,
    token: Option<i64>,
    left: Option<Duration>,
    waiting: usize,
}

fn view(value: Value) -> Result<NodeView, BackendError> {
    let (owner, rest) = holder_first(value)?;
    let fields: Vec<&str> = rest.iter().map(String::as_str).collect();
    let [token, left, waiting] = fields[..] else {
        return Err(reply::unexpected_reply(&fields));
    };
    Ok(NodeView {
        owner,
        token: token.parse().ok(),
        left: millis(left),
        waiting: waiting
            .parse()
            .map_err(|_| reply::unexpected_reply(&fields))?,
    })
}

/// Parses a reply whose first word is a holder. The id of another program may be any bytes.
fn holder_first(value: Value) -> Result<(Vec<u8>, Vec<String>), BackendError> {
    let mut words: VecDeque<Value> = reply::read::<Vec<Value>>(value)?.into();
    let holder = words
        .pop_front()
        .ok_or_else(|| reply::unexpected_reply(&[]))?;
    let rest = words
        .into_iter()
        .map(reply::read)
        .collect::<Result<_, _>>()?;
    Ok((reply::read(holder)?, rest))
}

/// Returns the largest value that occurs at least `needed` times in the sorted values.
fn common(sorted: &[i64], needed: usize) -> Option<i64> {
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.filter(|run| run.len() >= needed)
        .map(|run| run[0])
        .next_back()
}

/// Returns the replies to each command that arrive within the limit. An error of a node's whole call counts only for the
/// first command.
async fn ask_all(members: &[Arc<QuorumNode>], commands: Vec<Cmd>, limit: Duration) -> Vec<Replies> {
    let count = commands.len();
    let mut pipeline = Pipeline::with_capacity(count);
    for command in commands {
        pipeline.add_command(command);
    }
    let pipeline = Arc::new(pipeline);
    let mut asked = NodeRequests::new(members.iter().map(|member| {
        let (member, pipeline) = (Arc::clone(member), Arc::clone(&pipeline));
        async move {
            let answers = member.call_all(limit, &pipeline, count).await;
            (member.place, answers)
        }
    }));
    let mut replies: Vec<Replies> = (0..count).map(|_| Replies::default()).collect();
    while let Some((place, answers)) = asked.next().await {
        let answers = answers.unwrap_or_else(|error| vec![Err(error)]);
        for (replies, answer) in replies.iter_mut().zip(answers) {
            match answer {
                Ok(answer) => replies.answers.push(answer),
                Err(error) => replies.failures.push((place, error)),
            }
        }
    }
    replies
}
