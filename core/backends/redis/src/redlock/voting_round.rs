//! One round: sends a request to all nodes and waits for a majority.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use super::asked_nodes::Round;
use super::node_scripts::NodeAcquire;
use super::pending_node_requests::NodeRequests;
use super::quorum_node::QuorumNode;
use super::vote_count::{QuorumState, Vote, VoteCount};
use crate::protocol::reply::{self, millis};
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::{Applied, BackendError};

/// The maximum number of words in one reply.
const MOST_WORDS: usize = 4;

/// The outcome of a round.
#[derive(Debug)]
pub(super) enum RoundOutcome {
    /// A majority grants the lock under this token.
    Elected(u64),
    /// Another holder has a majority. The duration is the longest time for which this can last.
    Held(Duration),
    /// No attempt has a majority.
    Split,
    /// Too few nodes reply for a majority.
    NoQuorum {
        answered: usize,
        failures: Vec<(usize, BackendError)>,
    },
}

/// Requests the lock from all nodes.
///
/// One exchange is enough if a majority replies with the same token. Otherwise a second exchange raises smaller tokens
/// to the largest. The second returned value is a token larger than all tokens in the replies.
pub(super) async fn hold(
    members: &[Arc<QuorumNode>],
    round: &Arc<Round>,
    request: &Arc<NodeAcquire>,
    limit: Duration,
) -> (RoundOutcome, u64) {
    let sent = LeaseInstant::now();
    let mut election = VoteCount::among(members.len());
    let mut asked = NodeRequests::new(members.iter().map(|member| {
        let (member, request) = (Arc::clone(member), Arc::clone(request));
        let (asking, round) = (round.asking(member.place), Arc::clone(round));
        async move {
            if let Err(down) = member.look() {
                asking.never_sent();
                return (member.place, Vote::Failed(down));
            }
            let vote = ask(&member, &round, &request, limit, sent).await;
            drop(asking);
            (member.place, vote)
        }
    }));
    loop {
        match election.standing() {
            QuorumState::Open => match asked.next().await {
                Some((place, vote)) => election.count(place, vote),
                None => break,
            },
            QuorumState::Agreed(token) => {
                return (RoundOutcome::Elected(token), token.saturating_add(1));
            }
            QuorumState::Below { token, nodes } => {
                raise(members, &nodes, token, request, limit, &mut election).await;
                let agreed = matches!(election.standing(), QuorumState::Agreed(_));
                let outcome = match agreed {
                    true => RoundOutcome::Elected(token),
                    false => RoundOutcome::Split,
                };
                return (outcome, election.beyond());
            }
            QuorumState::Lost => break,
        }
    }
    if election.is_failing() {
        // The error contains the numbers of votes, so the loop also counts the other votes.
        while let Some((place, vote)) = asked.next().await {
            election.count(place, vote);
        }
    }
    let beyond = election.beyond();
    if let Some(left) = election.held_for() {
        return (RoundOutcome::Held(left), beyond);
    }
    if election.is_failing() {
        let answered = election.answered();
        let failures = election.into_failures();
        return (RoundOutcome::NoQuorum { answered, failures }, beyond);
    }
    (RoundOutcome::Split, beyond)
}

async fn raise(
    members: &[Arc<QuorumNode>],
    nodes: &[usize],
    token: u64,
    request: &Arc<NodeAcquire>,
    limit: Duration,
    election: &mut VoteCount,
) {
    let mut asked = NodeRequests::new(nodes.iter().map(|&place| {
        let (member, request) = (Arc::clone(&members[place]), Arc::clone(request));
        async move {
            let answer = member.call(limit, &request.raise_token(token)).await;
            (place, answer.and_then(reply::read::<u8>))
        }
    }));
    while let Some((place, answer)) = asked.next().await {
        if matches!(answer, Ok(1)) {
            election.raised(place);
        }
        if matches!(election.standing(), QuorumState::Agreed(_)) {
            return;
        }
    }
}

async fn ask(
    member: &QuorumNode,
    round: &Round,
    request: &NodeAcquire,
    limit: Duration,
    sent: LeaseInstant,
) -> Vote {
    let prepared = match member.server_clock.expiry_at(sent) {
        Some(expiry) => Ok((expiry, sent)),
        None => Box::pin(ask_time_and_expiry(member, limit)).await,
    };
    let answer = match prepared {
        Ok((expiry, sent)) => {
            let in_flight = round.unanswered(member.place).sending(expiry);
            let answer = member.call(limit, &request.acquire(expiry)).await;
            if answer
                .as_ref()
                .map_or_else(|e| e.applied() == Applied::No, |_| true)
            {
                in_flight.answered();
            }
            answer
                .and_then(read)
                .inspect(|(now, _)| member.server_clock.observe(sent, *now))
        }
        Err(error) => Err(error),
    };
    match answer {
        Ok((_, vote)) => vote,
        Err(error) => Vote::Failed(error),
    }
}

/// Reads the node's clock before the client sends the request. The request then has a separate time of sending.
async fn ask_time_and_expiry(
    member: &QuorumNode,
    limit: Duration,
) -> Result<(u64, LeaseInstant), BackendError> {
    ask_time(member, limit).await?;
    let sent = LeaseInstant::now();
    match member.server_clock.expiry_at(sent) {
        Some(expiry) => Ok((expiry, sent)),
        None => Err(BackendError::not_applied("the node's clock is unknown")),
    }
}

async fn ask_time(member: &QuorumNode, limit: Duration) -> Result<(), BackendError> {
    let sent = LeaseInstant::now();
    let time = member.call(limit, &redis::cmd("TIME")).await?;
    let (seconds, micros): (u64, u64) = reply::read(time)?;
    let server_micros = seconds.saturating_mul(1_000_000).saturating_add(micros);
    member.server_clock.observe(sent, server_micros);
    Ok(())
}

/// Parses the node's time in microseconds, and its vote.
fn read(value: Value) -> Result<(u64, Vote), BackendError> {
    let mut words = [&[][..]; MOST_WORDS];
    if let Some(fields) = borrowed_words(&value, &mut words) {
        return vote(fields);
    }
    let fields: Vec<String> = reply::read(value)?;
    let fields: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
    vote(&fields)
}

/// Parses the usual reply without copying it.
fn borrowed_words<'a, 'b>(
    value: &'a Value,
    words: &'b mut [&'a [u8]; MOST_WORDS],
) -> Option<&'b [&'a [u8]]> {
    let Value::Array(items) = value else {
        return None;
    };
    let words = words.get_mut(..items.len())?;
    for (item, word) in items.iter().zip(&mut *words) {
        let Value::BulkString(bytes) = item else {
            return None;
        };
        *word = bytes;
    }
    Some(words)
}

fn vote(fields: &[&[u8]]) -> Result<(u64, Vote), BackendError> {
    let unexpected_reply = || reply::unexpected_reply(&[&reply::shown(&fields.join(&b' '))]);
    let (vote, now) = match *fields {
        [b"granted", now, token] => {
            let token = number(token).ok_or_else(unexpected_reply)?;
            (Vote::Granted(token), now)
        }
        [b"busy", now, left, holder] => {
            let vote = Vote::Busy {
                holder: holder.to_owned(),
                left: str::from_utf8(left).ok().and_then(millis),
            };
            (vote, now)
        }
        [b"late", now] => (
            failed("the request reached it after its deadline; its clock may have jumped"),
            now,
        ),
        [b"exhausted", now, _drawn] => (
            failed("its next fencing token would exceed 2^53; correct its clock"),
            now,
        ),
        _ => return Err(unexpected_reply()),
    };
    Ok((number(now).ok_or_else(unexpected_reply)?, vote))
}

fn number(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

fn failed(why: &str) -> Vote {
    Vote::Failed(BackendError::not_applied(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_or_exhausted_reply_means_that_nothing_was_granted() {
        for words in [
            vec!["late", "5"],
            vec!["exhausted", "5", "9007199254740992"],
        ] {
            let words = words.into_iter().map(|it| Value::BulkString(it.into()));
            let (now, vote) = read(Value::Array(words.collect())).unwrap();
            let Vote::Failed(error) = vote else {
                panic!("{vote:?}");
            };
            assert_eq!((now, error.applied()), (5, Applied::No));
        }
    }
}
