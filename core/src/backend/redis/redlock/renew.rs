//! Extending leases, by majority.

use std::sync::Arc;

use redis::{Pipeline, Value};

use super::asked::Asked;
use super::quorum::no_quorum;
use super::tally::{Tally, Verdict};
use super::{Redlock, request};
use crate::backend::redis::answer;
use crate::backend::{BackendError, Claim, RenewAnswer};

impl Redlock {
    pub(super) async fn extend(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let limit = self.settings.node_timeout;
        let mut commands = Pipeline::with_capacity(claims.len());
        for claim in claims {
            let round = self.pursuits.round_of(claim.owner, claim.ttl);
            commands.add_command(request::extend(claim, round));
        }
        let (commands, count) = (Arc::new(commands), claims.len());
        let mut asked = Asked::new(self.members.iter().map(|member| {
            let (member, commands) = (Arc::clone(member), Arc::clone(&commands));
            async move {
                let answers = member.call_all(limit, &commands, count).await;
                (member.place, answers)
            }
        }));
        let mut tallies: Vec<_> = claims
            .iter()
            .map(|_| Tally::of(self.members.len()))
            .collect();
        while tallies.iter().any(|it| it.verdict().is_none())
            && let Some((place, answers)) = asked.next().await
        {
            count_votes(&mut tallies, place, answers);
        }
        let answers = claims.iter().zip(tallies);
        answers
            .map(|(claim, tally)| self.renewed(claim, tally))
            .collect()
    }

    fn renewed(&self, claim: &Claim, tally: Tally) -> Result<RenewAnswer, BackendError> {
        match tally.verdict() {
            Some(Verdict::Yes) => Ok(RenewAnswer::Extended { lease: claim.ttl }),
            Some(Verdict::No) => Ok(RenewAnswer::Gone),
            None => Err(no_quorum(
                &self.members,
                tally.answered(),
                tally.into_failures(),
            )),
        }
    }
}

type Answers = Result<Vec<Result<Value, BackendError>>, BackendError>;

/// A node's answers to several questions. An error of all is told of the first; the others are asked again.
fn count_votes(tallies: &mut [Tally], place: usize, answers: Answers) {
    match answers {
        Ok(answers) => {
            for (tally, answer) in tallies.iter_mut().zip(answers) {
                let held = answer.and_then(answer::read::<u8>);
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
