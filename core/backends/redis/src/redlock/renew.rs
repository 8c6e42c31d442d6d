//! Renews leases on a majority of the nodes.

use std::sync::Arc;

use redis::{Pipeline, Value};

use super::attempt_in_process::RedlockAttempt;
use super::majority_count::{MajorityCount, MajorityDecision, no_quorum};
use super::pending_node_requests::NodeRequests;
use super::{Redlock, node_scripts};
use crate::protocol::reply;
use leasehold_core::backend::{BackendError, Claim, RenewAnswer};

impl Redlock {
    pub(super) async fn extend(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let (limit, fence_ttl) = (self.settings.node_timeout, self.settings.fence_ttl);
        // This renews only claims that won an election in this process, because a node cannot recognise a token that
        // was not granted.
        let nodes = self.members.len();
        let round_of = |it| RedlockAttempt::of_claim(it, nodes).round_of(it);
        let rounds: Vec<_> = claims.iter().map(round_of).collect();
        let mut commands = Pipeline::with_capacity(claims.len());
        for (claim, round) in claims.iter().zip(&rounds) {
            if let Some(round) = round {
                commands.add_command(node_scripts::extend(claim, *round, fence_ttl));
            }
        }
        let count = rounds.iter().flatten().count();
        let mut tallies: Vec<_> = (0..count)
            .map(|_| MajorityCount::of(self.members.len()))
            .collect();
        let commands = Arc::new(commands);
        let asked = self.members.iter().filter(|_| count > 0);
        let mut asked = NodeRequests::new(asked.map(|member| {
            let (member, commands) = (Arc::clone(member), Arc::clone(&commands));
            async move {
                let answers = member.call_all(limit, &commands, count).await;
                (member.place, answers)
            }
        }));
        while tallies.iter().any(|it| it.verdict().is_none())
            && let Some((place, answers)) = asked.next().await
        {
            count_votes(&mut tallies, place, answers);
        }
        let mut tallies = tallies.into_iter();
        let mut answers = Vec::with_capacity(claims.len());
        for (claim, round) in claims.iter().zip(rounds) {
            answers.push(match round.and_then(|_| tallies.next()) {
                Some(tally) => self.renewed(claim, tally),
                None => Ok(RenewAnswer::Gone),
            });
        }
        answers
    }

    fn renewed(&self, claim: &Claim, tally: MajorityCount) -> Result<RenewAnswer, BackendError> {
        match tally.verdict() {
            Some(MajorityDecision::Yes) => Ok(RenewAnswer::Extended { lease: claim.ttl }),
            Some(MajorityDecision::No) => Ok(RenewAnswer::Gone),
            None => Err(no_quorum(
                &self.members,
                tally.answered(),
                tally.into_failures(),
            )),
        }
    }
}

type NodeReplies = Result<Vec<Result<Value, BackendError>>, BackendError>;

/// Counts a node's replies to several requests. An error of the whole call counts only for the first request. The
/// client sends the other requests again.
fn count_votes(tallies: &mut [MajorityCount], place: usize, answers: NodeReplies) {
    match answers {
        Ok(answers) => {
            for (tally, answer) in tallies.iter_mut().zip(answers) {
                let held = answer.and_then(reply::read::<u8>);
                tally.count(place, held.map(|held| held == 1));
            }
        }
        Err(error) => {
            if let Some(tally) = tallies.first_mut() {
                tally.count(place, Err(error));
            }
        }
    }
}
