//! A round: every node is asked at once, and a majority decides.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use super::asked::Asked;
use super::deadline::Limit;
use super::election::{Election, Standing, Vote};
use super::member::Member;
use super::request::Request;
use super::round::Round;
use crate::OwnerId;
use crate::backend::redis::answer::{self, millis};
use crate::backend::{Applied, BackendError};
use crate::clock::Moment;

/// In an answer to a request.
const MOST_WORDS: usize = 4;

/// How a round ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A majority grants the lock under this token.
    Elected(u64),
    /// Somebody else holds a majority, for so long at most.
    Held(Duration),
    /// Nobody has a majority.
    Split,
    /// So few nodes answer that nobody can have one.
    NoQuorum {
        answered: usize,
        failures: Vec<(usize, BackendError)>,
    },
}

/// Asks all nodes for the lock.
///
/// One exchange is enough if a majority answers the same token; else those below the largest are raised to it. The
/// second value is a token beyond all that were seen.
pub(super) async fn hold(
    members: &[Arc<Member>],
    round: &Arc<Round>,
    request: &Arc<Request>,
    limit: Duration,
) -> (Outcome, u64) {
    let sent = Moment::now();
    let mut election = Election::among(members.len());
    let mut asked = Asked::within(limit, |limit| {
        members.iter().map(move |member| {
            let (member, request) = (Arc::clone(member), Arc::clone(request));
            let (asking, id) = (round.asking(member.place), round.id);
            let limit = limit.clone();
            async move {
                if let Err(down) = member.look() {
                    asking.never_sent();
                    return (member.place, Vote::Failed(down));
                }
                let vote = ask(&member, id, &request, limit, sent).await;
                drop(asking);
                (member.place, vote)
            }
        })
    });
    loop {
        match election.standing() {
            Standing::Open => match asked.next().await {
                Some((place, vote)) => election.count(place, vote),
                None => break,
            },
            Standing::Agreed(token) => return (Outcome::Elected(token), token.saturating_add(1)),
            Standing::Below { token, nodes } => {
                raise(members, &nodes, token, request, limit, &mut election).await;
                let agreed = matches!(election.standing(), Standing::Agreed(_));
                let outcome = match agreed {
                    true => Outcome::Elected(token),
                    false => Outcome::Split,
                };
                return (outcome, election.beyond());
            }
            Standing::Lost => break,
        }
    }
    if election.is_failing() {
        // The others are counted as well, for whoever reads how many there were.
        while let Some((place, vote)) = asked.next().await {
            election.count(place, vote);
        }
    }
    let beyond = election.beyond();
    if let Some(left) = election.held_for() {
        return (Outcome::Held(left), beyond);
    }
    if election.is_failing() {
        let answered = election.answered();
        let failures = election.into_failures();
        return (Outcome::NoQuorum { answered, failures }, beyond);
    }
    (Outcome::Split, beyond)
}

async fn raise(
    members: &[Arc<Member>],
    nodes: &[usize],
    token: u64,
    request: &Arc<Request>,
    limit: Duration,
    election: &mut Election,
) {
    let mut asked = Asked::within(limit, |limit| {
        nodes.iter().map(move |&place| {
            let (member, request) = (Arc::clone(&members[place]), Arc::clone(request));
            let limit = limit.clone();
            async move {
                let answer = member.call(&limit, &request.raise(token)).await;
                (place, answer.and_then(answer::read::<u8>))
            }
        })
    });
    while let Some((place, answer)) = asked.next().await {
        if matches!(answer, Ok(1)) {
            election.raised(place);
        }
        if matches!(election.standing(), Standing::Agreed(_)) {
            return;
        }
    }
}

async fn ask(
    member: &Member,
    round: OwnerId,
    request: &Request,
    limit: Limit,
    sent: Moment,
) -> Vote {
    let prepared = match member.copies.expiry_at(sent) {
        Some(expiry) => Ok((expiry, limit, sent)),
        None => Box::pin(learned(member, limit.length())).await,
    };
    let answer = match prepared {
        Ok((expiry, limit, sent)) => {
            let copy = member.copies.sending(round, expiry);
            let answer = member.call(&limit, &request.acquire(expiry)).await;
            if answer
                .as_ref()
                .map_or_else(|e| e.applied() == Applied::No, |_| true)
            {
                copy.answered();
            }
            answer
                .and_then(read)
                .inspect(|(now, _)| member.copies.learn(sent, *now))
        }
        Err(error) => Err(error),
    };
    match answer {
        Ok((_, vote)) => vote,
        Err(error) => Vote::Failed(error),
    }
}

/// Asks for the node's clock first, so that the request has a limit, and a moment of its sending, of its own.
async fn learned(member: &Member, limit: Duration) -> Result<(u64, Limit, Moment), BackendError> {
    ask_time(member, &limit.into()).await?;
    let sent = Moment::now();
    match member.copies.expiry_at(sent) {
        Some(expiry) => Ok((expiry, limit.into(), sent)),
        None => Err(BackendError::not_applied("the node's clock is unknown")),
    }
}

async fn ask_time(member: &Member, limit: &Limit) -> Result<(), BackendError> {
    let sent = Moment::now();
    let time = member.call(limit, &redis::cmd("TIME")).await?;
    let (seconds, micros): (u64, u64) = answer::read(time)?;
    member.copies.learn(
        sent,
        seconds.saturating_mul(1_000_000).saturating_add(micros),
    );
    Ok(())
}

/// The node's time in microseconds, and its vote.
fn read(value: Value) -> Result<(u64, Vote), BackendError> {
    let mut words = [&[][..]; MOST_WORDS];
    if let Some(fields) = as_they_lie(&value, &mut words) {
        return vote(fields);
    }
    let fields: Vec<String> = answer::read(value)?;
    let fields: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
    vote(&fields)
}

/// What is answered mostly can be read as it lies there.
fn as_they_lie<'a, 'b>(
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
    let strange = || answer::strange(&[&answer::shown(&fields.join(&b' '))]);
    let (vote, now) = match *fields {
        [b"granted", now, token] => {
            let token = number(token).ok_or_else(strange)?;
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
            failed("the request came to it after its time; its clock may have jumped"),
            now,
        ),
        [b"exhausted", now, _drawn] => (
            failed("its next fencing token would not stay below 2^53; set its clock right"),
            now,
        ),
        _ => return Err(strange()),
    };
    Ok((number(now).ok_or_else(strange)?, vote))
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
    fn a_node_that_refuses_has_surely_granted_nothing() {
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
