//! Renews many leases with one script call.

use std::time::Duration;

use redis::{Cmd, Value};

use super::Redis;
use super::error::maybe_applied;
use super::keys::{self, LockKeys};
use super::protocol::reply;
use super::required_replicas::too_few;
use super::scripts::LockScripts;
use crate::connection::wait_command_connections::Acknowledged;
use crate::protocol::{millis, written};
use leasehold_core::AttemptId;
use leasehold_core::backend::{Applied, BackendError, Claim, Mode, RenewAnswer};

/// The maximum number of leases that one script call extends. The server does nothing else during the call.
const AT_ONCE: usize = 32;

/// The largest number of times that the client sends one renewal. The client sends the renewal again if a connection
/// was opened or dropped during the renewal. Another server may then be the primary, without these leases. The client
/// may count the end of one connection twice, and the opening of the next connection once.
const ROUNDS: usize = 4;

/// The approximate size of one claim in a request, in bytes.
const BYTES: usize = 160;

/// The claims of one command, as indexes into the list.
type RenewCall = Vec<usize>;

type RenewReply = Result<RenewAnswer, BackendError>;

impl Redis {
    /// Extends leases. Returns a reply for each claim, in order.
    pub(super) async fn extend(&self, claims: &[Claim]) -> Vec<RenewReply> {
        for round in 0..ROUNDS {
            let (answers, is_doubted) = self.extend_once(claims).await;
            if !is_doubted {
                let answers = answers.into_iter();
                return match round {
                    0 => answers.collect(),
                    _ => answers.map(|it| it.map_err(maybe_applied)).collect(),
                };
            }
        }
        let message = "the connection was dropped during each try of the renewal";
        vec![Err(BackendError::unknown(message))]
    }

    /// Sends the renewals once. Also returns whether a server that may no longer be the primary has extended a lease.
    async fn extend_once(&self, claims: &[Claim]) -> (Vec<RenewReply>, bool) {
        let interruptions = self.waiters.interruptions();
        // In a Cluster the keys of a command must be in one slot.
        let at_once = if self.servers.is_one() { AT_ONCE } else { 1 };
        let mut answered = Vec::with_capacity(claims.len());
        let mut refused = Vec::new();
        for (call, settled) in self.carry_out(claims, calls(claims, at_once)).await {
            match settled {
                Err(error) if call.len() > 1 && !error.is_temporary() => {
                    refused.extend(call.into_iter().map(|place| vec![place]));
                }
                settled => self.read(claims, &call, settled, &mut answered),
            }
        }
        if !refused.is_empty() {
            // The server may have refused one of the claims, and the other claims must not fail because of it. A server
            // of a Cluster also refuses claims of several slots in one command, if the URL names it as a single server.
            for (call, settled) in self.carry_out(claims, refused).await {
                self.read(claims, &call, settled, &mut answered);
            }
        }
        answered.sort_unstable_by_key(|(place, _)| *place);
        let answers: Vec<RenewReply> = answered.into_iter().map(|(_, answer)| answer).collect();
        let is_extended = |answer: &RenewReply| matches!(answer, Ok(RenewAnswer::Extended { .. }));
        let is_interrupted = interruptions != self.waiters.interruptions();
        let is_doubted = is_interrupted && answers.iter().any(is_extended);
        (answers, is_doubted)
    }

    async fn carry_out(
        &self,
        claims: &[Claim],
        calls: Vec<RenewCall>,
    ) -> Vec<(RenewCall, Result<Acknowledged<Value>, BackendError>)> {
        let commands = calls.iter().filter_map(|call| {
            let first = claims.get(*call.first()?)?;
            Some((&first.key, command(&self.scripts, claims, call)))
        });
        let commands = commands.collect();
        let answers = self.servers.send_each(commands, self.synced).await;
        let mut answers = answers.into_iter();
        let calls = calls.into_iter();
        let with_replies = |call| (call, answers.next().unwrap_or_else(unanswered));
        calls.map(with_replies).collect()
    }

    /// Reads the reply about each claim of a call.
    fn read(
        &self,
        claims: &[Claim],
        call: &[usize],
        settled: Result<Acknowledged<Value>, BackendError>,
        answered: &mut Vec<(usize, RenewReply)>,
    ) {
        let settled = settled.and_then(|it| {
            let digits = reply::digits(it.answer, call.len())?;
            Ok((digits, it.acknowledged))
        });
        match settled {
            Ok((extended, acknowledged)) => {
                for (&place, extended) in call.iter().zip(extended) {
                    let lease = claims.get(place).filter(|_| extended).map(|it| it.ttl);
                    answered.push((place, self.reply_of(lease, acknowledged)));
                }
            }
            Err(error) => {
                let repeated = || match error.applied() {
                    Applied::No => BackendError::not_applied(error.to_string()),
                    Applied::Unknown => BackendError::unknown(error.to_string()),
                };
                answered.extend(call.iter().skip(1).map(|&place| (place, Err(repeated()))));
                answered.extend(call.first().map(|&place| (place, Err(error))));
            }
        }
    }

    /// Checks the acknowledgements of one renewal. A reply that a lock is lost does not need acknowledgements.
    fn reply_of(&self, extended: Option<Duration>, acknowledged: u32) -> RenewReply {
        match (extended, self.synced) {
            (None, _) => Ok(RenewAnswer::Gone),
            (Some(_), Some(synced)) if acknowledged < synced.replicas => {
                Err(BackendError::unknown(too_few(acknowledged, synced)))
            }
            (Some(lease), _) => Ok(RenewAnswer::Extended { lease }),
        }
    }
}

/// Groups the claims. Claims of shared holders and permits use more keys, so each has its own call.
fn calls(claims: &[Claim], at_once: usize) -> Vec<RenewCall> {
    let places = |shared: bool| {
        let of_kind = move |it: &(usize, &Claim)| (it.1.mode != Mode::Exclusive) == shared;
        let places = claims.iter().enumerate().filter(of_kind);
        places.map(|(place, _)| place).collect::<RenewCall>()
    };
    let (alone, shared) = (places(false), places(true));
    let alone = alone.chunks(at_once).map(<[_]>::to_vec);
    let shared = shared.into_iter().map(|place| vec![place]);
    alone.chain(shared).collect()
}

fn command(scripts: &LockScripts, claims: &[Claim], call: &[usize]) -> Cmd {
    let claims: Vec<&Claim> = call.iter().filter_map(|&it| claims.get(it)).collect();
    match claims[..] {
        [claim] if claim.mode != Mode::Exclusive => share(scripts, claim),
        _ => alone(scripts, &claims),
    }
}

fn share(scripts: &LockScripts, claim: &Claim) -> Cmd {
    scripts.renew_shared.call(
        &LockKeys::of(&claim.key).all(),
        &[
            claim.owner.written(&mut AttemptId::buffer()),
            &millis(claim.ttl),
            &written(claim.mode),
        ],
    )
}

fn alone(scripts: &LockScripts, claims: &[&Claim]) -> Cmd {
    let (keys, arguments) = (claims.len() * 2, claims.len() * 3);
    let mut command = scripts.renew.begin(keys, arguments, claims.len() * BYTES);
    let mut word = String::new();
    for claim in claims {
        word.clear();
        keys::write_fence(&claim.key, &mut word);
        command.arg(claim.key.full()).arg(&word);
    }
    let mut buffer = AttemptId::buffer();
    for claim in claims {
        command
            .arg(claim.owner.written(&mut buffer))
            .arg(claim.token.get());
        command.arg(millis(claim.ttl));
    }
    command
}

fn unanswered() -> Result<Acknowledged<Value>, BackendError> {
    Err(BackendError::unknown(
        "the server did not reply for this lease",
    ))
}
