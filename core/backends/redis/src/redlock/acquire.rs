//! Acquires on a majority of the nodes.

use std::sync::Arc;
use std::time::Duration;

use super::Redlock;
use super::attempt_in_process::RedlockAttempt;
use super::majority_count::{majority, no_quorum};
use super::node_scripts::{AHEAD, NodeAcquire};
use super::voting_round::{self, RoundOutcome};
use super::wait_for_next_round::{GRACE, apart};
use crate::protocol::micros;
use leasehold_core::FencingToken;
use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::{Attempt, AttemptAnswer, BackendError, RenewAnswer};

/// The number of consecutive rounds without a holder after which the caller receives busy.
const SPLITS_AT_MOST: u32 = 4;

/// The interval at which a caller without a majority checks again.
const LOOK: Duration = Duration::from_millis(10);

impl Redlock {
    pub(super) async fn acquire(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let registration = attempt
            .queue
            .then(|| self.waiters.enter(&attempt.key, attempt.owner, None));
        if let Some(wake_ups) = self.waiters.wake_ups(attempt.owner) {
            wake_ups.forget();
        }
        let rounds = RedlockAttempt::of(attempt, self.members.len());
        let again = match rounds.elected_with() {
            Some(token) => self.again(attempt, token).await?,
            None => None,
        };
        let answer = match again {
            Some(answer) => answer,
            None => self.run_rounds(attempt, &rounds).await?,
        };
        if let (AttemptAnswer::Busy { .. }, Some(registration)) = (&answer, registration) {
            registration.keep();
        }
        Ok(answer)
    }

    /// Confirms an earlier election. A duplicate request after the election of its owner belongs to the same
    /// acquisition, unless the owner has lost the lock.
    async fn again(
        &self,
        attempt: &Attempt,
        token: FencingToken,
    ) -> Result<Option<AttemptAnswer>, BackendError> {
        let claim = attempt.claim(token);
        match self.extend(std::slice::from_ref(&claim)).await.pop() {
            Some(Ok(RenewAnswer::Extended { lease })) => {
                Ok(Some(AttemptAnswer::Granted { token, lease }))
            }
            Some(Ok(RenewAnswer::Gone)) | None => Ok(None),
            Some(Err(error)) => Err(error),
        }
    }

    /// Runs rounds until the nodes elect a holder.
    async fn run_rounds(
        &self,
        attempt: &Attempt,
        rounds: &RedlockAttempt,
    ) -> Result<AttemptAnswer, BackendError> {
        let started = LeaseInstant::now();
        let mut waited = false;
        loop {
            let begin = LeaseInstant::now();
            let (round, unfinished) = rounds.round();
            if let Some(unfinished) = unfinished {
                // The next round would mistake the locks of this round for the locks of another holder.
                self.undo(attempt, &unfinished)
                    .until(begin.after(GRACE))
                    .await;
            }
            let hint = clock::micros_of_day().saturating_add(micros(AHEAD));
            let hint = hint.max(rounds.floor());
            let request = Arc::new(NodeAcquire::new(
                attempt,
                round.id,
                &self.waiters.channel(),
                hint,
                rounds.since,
                self.settings.fence_ttl,
            ));
            let limit = self.settings.node_timeout;
            let (outcome, floor) = voting_round::hold(&self.members, &round, &request, limit).await;
            let took = LeaseInstant::now().since(begin);
            match outcome {
                // If the election took half of the lease or more, the rest is too short to use.
                RoundOutcome::Elected(token) if took < attempt.ttl / 2 => {
                    let token = valid(token)?;
                    rounds.elected(token);
                    let lease = attempt.ttl;
                    return Ok(AttemptAnswer::Granted { token, lease });
                }
                RoundOutcome::Elected(_) | RoundOutcome::Split => {}
                RoundOutcome::Held(left) => {
                    rounds.failed(floor);
                    rounds.held_by_another();
                    self.abandon(attempt, &round);
                    return Ok(self.busy(attempt, left));
                }
                RoundOutcome::NoQuorum { answered, failures } => {
                    rounds.failed(floor);
                    self.abandon(attempt, &round);
                    // The nodes may be up again, although this client has not checked them since.
                    if !std::mem::replace(&mut waited, true) && self.are_back(limit).await {
                        continue;
                    }
                    return Err(no_quorum(&self.members, answered, failures));
                }
            }
            rounds.failed(floor);
            let undoing = self.undo(attempt, &round);
            let splits = rounds.split();
            let pause = apart(took, splits);
            if splits.is_multiple_of(SPLITS_AT_MOST) {
                undoing.go_on();
                // The caller counts `retry_after` from the start of the attempt.
                let retry_after = LeaseInstant::now().since(started) + pause;
                return Ok(AttemptAnswer::Busy { retry_after });
            }
            undoing.until(LeaseInstant::now().after(pause)).await;
        }
    }

    /// Waits until a majority of nodes is up, but no longer than `limit`.
    async fn are_back(&self, limit: Duration) -> bool {
        let end = LeaseInstant::now().after(limit);
        loop {
            let up = self.members.iter().filter(|it| it.look().is_ok()).count();
            if up >= majority(self.members.len()) {
                return true;
            }
            if end.has_passed() {
                return false;
            }
            clock::sleep_until(LeaseInstant::now().after(LOOK)).await;
        }
    }
}

fn valid(token: u64) -> Result<FencingToken, BackendError> {
    let token = i64::try_from(token).ok();
    let token = token.and_then(|token| FencingToken::try_from(token).ok());
    token.ok_or_else(|| BackendError::unknown("the nodes drew an invalid token"))
}

#[cfg(test)]
mod tests {
    use leasehold_testkit::servers::RedisServer;

    use super::*;
    use leasehold_core::Key;
    use leasehold_core::backend::Backend;
    use leasehold_core::backend::support::clock::simulate_suspension;

    #[tokio::test]
    async fn a_round_that_takes_half_of_the_ttl_is_undone_and_repeated() {
        let server = RedisServer::builder().start().await.unwrap();
        let ttl = Duration::from_secs(30);
        let redlock = Redlock::new([server.url()]).durable_nodes(true);
        // Long enough for a reply on a busy machine.
        let redlock = redlock.node_timeout(ttl / 6);
        let redlock = redlock.connect().await.unwrap();
        for (asleep, is_in_time) in [(ttl / 2, false), (Duration::from_secs(1), true)] {
            let key = Key::new("lock:", &asleep.as_secs().to_string()).unwrap();
            let attempt = Attempt::new(key, ttl, false);
            // This simulates a suspended machine while the first reply is in flight.
            let (answer, ()) = tokio::join!(biased; redlock.attempt(&attempt), async {
                simulate_suspension(asleep);
            });
            let answer = answer.unwrap();
            assert!(
                matches!(answer, AttemptAnswer::Granted { .. }),
                "{answer:?}"
            );
            // The first round uses the attempt's own id.
            let seen = redlock.inspect(&attempt.key).await.unwrap();
            let by_the_first = seen.owner == Some(attempt.owner.to_string());
            assert_eq!(by_the_first, is_in_time, "{seen:?}");
        }
    }
}
