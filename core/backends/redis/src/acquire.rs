//! Acquires a lock, by a hand-off inside this process or by a request to the server.

use std::sync::Arc;
use std::time::Duration;

use super::Redis;
use super::batch::Urgency;
use super::client::SendOptions;
use super::error::maybe_applied;
use super::protocol::acquire_command::{AcquireCommand, ClientContext};
use super::protocol::reply::{self, AcquireOutcome, AcquireReply};
use super::protocol::unanswered_requests::UnansweredRequests;
use super::time_limits::{FIRST_LOOKS, GRANT_TTL, REFRESH};
use super::wait::local_queue::{Arrival, LocalGrant};
use super::wait::waiter_registry::Registration;
use crate::connection::wait_command_connections::Acknowledged;
use leasehold_core::Key;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::{Applied, Attempt, AttemptAnswer, BackendError, Mode};

/// The smallest `answer_within` with which the client may park a waiter.
const IN_A_HURRY: Duration = Duration::from_millis(100);

impl Redis {
    pub(super) async fn acquire(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let begun = LeaseInstant::now();
        let arrival = self.arrival(attempt);
        let Attempt { key, owner, .. } = attempt;
        let unanswered = UnansweredRequests::of(attempt);
        let arrive = || {
            let unanswered = Arc::clone(&unanswered);
            self.waiters.arrive(Some(unanswered), key, *owner, arrival)
        };
        let mut registration = attempt.queue.then(arrive);
        let granted = match &mut registration {
            Some(registration) => registration.granted().await,
            None => None,
        };
        let interruptions = self.waiters.interruptions();
        if let Some(grant) = granted
            && grant.interruptions == interruptions
            && let Some(lease) = lease_of(grant, begun).filter(|_| attempt.renewed)
        {
            leasehold_core::backend::support::count_local_handoff();
            let LocalGrant { token, .. } = grant;
            return Ok(AttemptAnswer::Granted { token, lease });
        }
        let how = SendOptions {
            listening: attempt.queue,
            synced: None,
        };
        let mut asked = self.send_acquire(attempt, how).await.map(|it| it.answer);
        if let Ok(AcquireOutcome::Granted(token)) = asked
            && (self.synced.is_some() || interruptions != self.waiters.interruptions())
        {
            // A box for this rare path keeps each request's future small.
            let granted = AcquireOutcome::Granted(token);
            asked = Box::pin(self.confirm(attempt, how, granted, interruptions)).await;
        }
        let answer = asked.and_then(|outcome| self.answer(attempt, registration, outcome));
        answer.map_err(|failed| {
            // The attempt may hold the lock anyway, for example if a release contained its request and had no reply.
            if granted.is_some() || self.latest_expiry(&unanswered) > 0 {
                return maybe_applied(failed);
            }
            failed
        })
    }

    /// Returns whether a release may hand the lock to this attempt, and whether the client may park the attempt. An
    /// attempt must send a request if it is not exclusive, has no turn in the queue, accepts a handover, may end with a
    /// recorded outcome, requires replicas, or has too little time.
    fn arrival(&self, attempt: &Attempt) -> Arrival {
        let exclusive = attempt.mode == Mode::Exclusive && attempt.fair;
        let plain = exclusive && attempt.handover.is_none() && !attempt.once;
        let lasts = attempt.ttl >= GRANT_TTL;
        let can_be_named = plain && lasts && self.synced.is_none();
        Arrival {
            can_be_named,
            may_park: can_be_named && attempt.answer_within >= IN_A_HURRY,
        }
    }

    fn answer(
        &self,
        attempt: &Attempt,
        registration: Option<Registration<'_>>,
        outcome: AcquireOutcome,
    ) -> Result<AttemptAnswer, BackendError> {
        let Attempt { key, owner, .. } = attempt;
        match outcome {
            AcquireOutcome::Granted(token) => {
                match registration {
                    // No waiter may park behind a holder that does not hand the lock to it.
                    _ if attempt.mode != Mode::Exclusive || attempt.once => {}
                    Some(registration) => registration.acquired(),
                    None => self.waiters.acquired(key, *owner),
                }
                Ok(AttemptAnswer::Granted {
                    token,
                    lease: attempt.ttl,
                })
            }
            AcquireOutcome::Busy { holder_left, first } => {
                if let Some(registration) = registration {
                    registration.keep();
                }
                let expires = holder_left.unwrap_or(FIRST_LOOKS).min(REFRESH);
                // The first waiter polls for releases by other programs. The first waiter of each process polls when
                // the lease expires, because the processes of all earlier waiters may have ended together with the
                // holder. A waiter without a turn does not wait for others.
                let retry_after = if first {
                    expires.min(FIRST_LOOKS)
                } else if !attempt.fair || self.waiters.is_first(key, *owner) {
                    expires
                } else {
                    REFRESH
                };
                Ok(AttemptAnswer::Busy { retry_after })
            }
            AcquireOutcome::Refused(refusal) => Ok(AttemptAnswer::Refused(refusal)),
            AcquireOutcome::Recorded(outcome) => Ok(AttemptAnswer::Recorded(outcome)),
            AcquireOutcome::Late => Err(BackendError::not_applied(
                "the request reached the server after its deadline; the server's clock may have jumped",
            )),
            AcquireOutcome::Exhausted => Err(BackendError::not_applied(
                "the next fencing token would exceed 2^53; correct the server's clock",
            )
            .permanent()),
        }
    }

    /// Confirms a grant. If the connection was dropped since the grant, another server may be the primary, and that
    /// server may not have the lock. If the builder requires replicas, they must also acknowledge the grant.
    async fn confirm(
        &self,
        attempt: &Attempt,
        how: SendOptions,
        mut outcome: AcquireOutcome,
        interruptions: u64,
    ) -> Result<AcquireOutcome, BackendError> {
        if interruptions != self.waiters.interruptions() {
            let asked = self.send_acquire(attempt, how).await;
            outcome = still_granted(asked.map_err(maybe_applied)?.answer)?;
        }
        if let (AcquireOutcome::Granted(_), Some(synced)) = (&outcome, self.synced) {
            outcome = still_granted(self.require_replicas(attempt, synced).await?)?;
        }
        Ok(outcome)
    }

    /// Sends a request, and records that duplicate requests may arrive.
    pub(super) async fn send_acquire(
        &self,
        attempt: &Attempt,
        how: SendOptions,
    ) -> Result<Acknowledged<AcquireOutcome>, BackendError> {
        let mut sent = LeaseInstant::now();
        let expiry = match self.server_clock.expiry_at(sent) {
            Some(expiry) => expiry,
            None => {
                Box::pin(self.ask_time(&attempt.key)).await?;
                sent = LeaseInstant::now();
                let unknown = || BackendError::not_applied("the server's clock is unknown");
                self.server_clock.expiry_at(sent).ok_or_else(unknown)?
            }
        };
        let command = AcquireCommand::of(attempt, expiry);
        let unanswered = UnansweredRequests::of(attempt);
        let request = unanswered.sending(expiry);
        let (answer, acknowledged) = match self.send_in_batch(&command, how).await {
            Some(answer) => (answer, 0),
            None => {
                let _under_way = self.batches.sending();
                let alone = command.alone(&self.context_of(&attempt.key));
                // The box keeps the future of a request in a batch small. The allocator is quicker then.
                match Box::pin(self.servers.send(&attempt.key, &alone, how)).await {
                    Ok(sent) => (reply::acquired(sent.answer), sent.acknowledged),
                    Err(error) => (Err(error), 0),
                }
            }
        };
        if !matches!(&answer, Err(error) if error.applied() == Applied::Unknown) {
            request.answered();
        }
        let answer = answer?;
        self.server_clock.observe(sent, answer.server_micros);
        Ok(Acknowledged {
            answer: answer.verdict,
            acknowledged,
        })
    }

    /// Sends a request in a batch. Returns `None` if the caller must send the request alone.
    async fn send_in_batch(
        &self,
        command: &AcquireCommand,
        how: SendOptions,
    ) -> Option<Result<AcquireReply, BackendError>> {
        // Other waiters are before this attempt, so its request can wait for other requests, even for a release by an
        // earlier waiter.
        let urgency =
            if command.queue && self.waiters.is_behind_another(&command.key, command.owner) {
                Urgency::None
            } else {
                Urgency::Some
            };
        let joins = how.synced.is_none() && command.is_plain() && self.batches.gather(urgency);
        let node = self.servers.one().filter(|_| joins)?;
        self.batches
            .take(node, self.context(), urgency, command.clone())
            .await
    }

    /// Returns the settings for all requests of a batch.
    pub(super) fn context(&self) -> ClientContext {
        self.context_with(self.waiters.channel())
    }

    fn context_of(&self, key: &Key) -> ClientContext {
        self.context_with(self.servers.channel(&self.waiters, key))
    }

    fn context_with(&self, channel: Arc<str>) -> ClientContext {
        ClientContext {
            scripts: Arc::clone(&self.scripts),
            channel,
            heal: self.heal,
            names_all: self.names_all,
        }
    }

    async fn ask_time(&self, key: &Key) -> Result<(), BackendError> {
        let sent = LeaseInstant::now();
        let time = self.servers.call(key, &redis::cmd("TIME")).await?;
        let (seconds, micros): (u64, u64) = reply::read(time)?;
        let server_micros = seconds.saturating_mul(1_000_000).saturating_add(micros);
        self.server_clock.observe(sent, server_micros);
        Ok(())
    }
}

/// Checks the reply to a duplicate request. The server has granted an earlier request of the attempt, so the attempt
/// may still hold the lock if the server refuses the duplicate.
fn still_granted(verdict: AcquireOutcome) -> Result<AcquireOutcome, BackendError> {
    match verdict {
        AcquireOutcome::Late | AcquireOutcome::Exhausted => Err(BackendError::unknown(
            "the server granted the lock, and then refused to confirm it",
        )),
        other => Ok(other),
    }
}

/// Returns the first lease of an attempt that began at `begun`. A release of the same process granted the lock to that
/// attempt.
///
/// The grant begins when the client sends the release. The lease is the remaining time of the grant, less 2 % of the
/// grant's age, because the clock of the server may be faster. Returns `None` if less than half of the grant is left.
/// After `None` the attempt sends a request, which confirms the grant for the whole TTL.
fn lease_of(grant: LocalGrant, begun: LeaseInstant) -> Option<Duration> {
    let age = begun.since(grant.sent);
    let lease = GRANT_TTL.saturating_sub(age + age / 50);
    (begun.after(lease).remaining() >= GRANT_TTL / 2).then_some(lease)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use leasehold_core::FencingToken;

    fn granted() -> LocalGrant {
        LocalGrant {
            token: FencingToken::try_from(7).unwrap(),
            sent: LeaseInstant::now(),
            interruptions: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_handed_off_lease_counts_from_when_the_release_was_sent() {
        let (age, grant) = (GRANT_TTL * 2 / 5, granted());
        advance(age).await;
        let left = lease_of(grant, LeaseInstant::now()).unwrap();
        assert!(left <= GRANT_TTL - age, "{left:?}");
        assert!(left > GRANT_TTL - age - age / 20, "{left:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_lease_of_a_parked_waiter_counts_from_the_start_of_its_attempt() {
        let begun = LeaseInstant::now();
        advance(GRANT_TTL / 4).await;
        let grant = granted();
        assert_eq!(lease_of(grant, begun), Some(GRANT_TTL));
        advance(GRANT_TTL / 2).await;
        assert_eq!(lease_of(grant, begun), None, "a quarter is left");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hand_off_with_less_than_half_of_its_grant_left_is_confirmed() {
        let grant = granted();
        advance(GRANT_TTL / 2).await;
        assert!(lease_of(grant, LeaseInstant::now()).is_none());
    }
}
