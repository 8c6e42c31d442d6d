//! Renews leases, and handles the replies.
//!
//! # Implementation details
//!
//! A failed renewal does not end a lease: the watchdog retries it until the deadline. The watchdog ends a lease earlier
//! only if the backend replies that it does not know the claim. Leases of similar length are in one batch, so a slow
//! reply about a long lease does not make a short lease expire. The leases of a batch are also on the same server, so
//! that an unresponsive server does not affect the leases on other servers.

pub(crate) mod renewal_queue;
pub(crate) mod renewal_timing;
pub(crate) mod watchdog;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Lease;
use super::backend_call_timeout::bounded;
use crate::backend::{Backend, BackendError, Claim, RenewAnswer};
use crate::clock::LeaseInstant;
use crate::options::Limits;
use crate::{EndReason, Key, events};
use renewal_timing::{TickAligner, after_failure, answer_limit};

/// The largest number of leases in one command.
const BATCH: usize = 256;

pub(super) type RenewBatch = Vec<Arc<Lease>>;

pub(super) fn batches(server_of: impl Fn(&Key) -> u64, due: Vec<Arc<Lease>>) -> Vec<RenewBatch> {
    let mut alike: BTreeMap<(u64, u32), Vec<RenewBatch>> = BTreeMap::new();
    for lease in due {
        let server = server_of(&lease.claim.key);
        let length = lease.length().as_millis().max(1).ilog2();
        let batches = alike.entry((server, length)).or_default();
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH => batch.push(lease),
            _ => batches.push(vec![lease]),
        }
    }
    alike.into_values().flatten().collect()
}

/// Renews a batch, and returns when to check each lease again.
pub(super) async fn renew_batch(
    batch: RenewBatch,
    backend: Arc<dyn Backend>,
    limits: Limits,
    aligner: TickAligner,
) -> Vec<(Arc<Lease>, LeaseInstant)> {
    let mut next_checks = Vec::with_capacity(batch.len());
    let mut turns = Vec::with_capacity(batch.len());
    for lease in &batch {
        // While a release or a manual renewal is in progress, no other command may be sent.
        match lease.command().try_lock() {
            // Check the lease again, because it may have ended since it became due.
            Ok(turn) if lease.validity().is_ok() => turns.push((lease, turn)),
            Ok(_ended) => next_checks.push((Arc::clone(lease), LeaseInstant::now())),
            Err(_busy) => next_checks.push((Arc::clone(lease), after_failure(lease))),
        }
    }
    if turns.is_empty() {
        return next_checks;
    }
    let leases = turns.iter().map(|(lease, _)| &***lease);
    let limit = answer_limit(leases.clone(), limits);
    let claims: Vec<Claim> = leases.map(|lease| lease.claim.clone()).collect();
    let sent = LeaseInstant::now();
    let mut answers = ask(&*backend, &claims, limit).await.into_iter();
    for (lease, _turn) in turns {
        let next_check = match apply(lease, sent, answers.next().unwrap_or_else(unanswered)) {
            Ok(_) => aligner.after_success(lease, LeaseInstant::now()),
            Err(error) => {
                events::renewal_failed(&lease.claim, &error);
                after_failure(lease)
            }
        };
        next_checks.push((Arc::clone(lease), next_check));
    }
    next_checks
}

pub(super) type RenewResult = Result<RenewAnswer, BackendError>;

pub(super) async fn ask(
    backend: &dyn Backend,
    claims: &[Claim],
    limit: Duration,
) -> Vec<RenewResult> {
    let answers = bounded(limit, async { Ok(backend.renew(claims).await) }).await;
    match answers {
        Ok(answers) => answers,
        // The error cannot be cloned, so only the first lease receives it.
        Err(error) => vec![Err(error)],
    }
}

/// Applies a reply. The lease counts from `sent`, because a slow reply must not lengthen it.
pub(super) fn apply(
    lease: &Lease,
    sent: LeaseInstant,
    answer: RenewResult,
) -> Result<Result<(), EndReason>, BackendError> {
    match answer? {
        RenewAnswer::Extended { lease: granted } => {
            events::renewed(&lease.claim);
            Ok(lease.extend(sent, granted))
        }
        RenewAnswer::Gone => {
            let end = lease.end(EndReason::Gone);
            Ok(Err(end.err().unwrap_or(EndReason::Gone)))
        }
    }
}

pub(super) fn unanswered() -> RenewResult {
    Err(BackendError::unknown(
        "the backend did not reply for this lease",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FencingToken;
    use crate::backend::{Attempt, AttemptAnswer, InProcess};
    use crate::options::AcquireOptions;
    use crate::runtime::Runtime;

    #[tokio::test]
    async fn leases_of_different_lengths_or_servers_do_not_share_a_batch() {
        let options = AcquireOptions::default();
        let lease = |ttl, server: &str| {
            let attempt = Attempt::new(Key::new(server, "k").unwrap(), ttl, false);
            let claim = attempt.claim(FencingToken::try_from(1).unwrap());
            let runtime = Runtime::current().unwrap();
            Arc::new(Lease::new(
                &(Arc::new(InProcess::new()) as Arc<dyn Backend>),
                claim,
                ttl,
                LeaseInstant::now(),
                &options,
                runtime,
            ))
        };
        let (short, long) = (Duration::from_millis(300), Duration::from_secs(30));
        let due = (0..700).map(|n| {
            let server = if n < 600 { "a" } else { "b" };
            lease(if n % 2 == 0 { short } else { long }, server)
        });
        let server_of = |key: &Key| u64::from(key.full().starts_with('b'));
        let batches = batches(server_of, due.collect());
        let sizes: Vec<_> = batches.iter().map(Vec::len).collect();
        assert_eq!(sizes, [256, 44, 256, 44, 50, 50]);
        for batch in batches {
            let alike = |lease: &Lease| (lease.claim.ttl, server_of(&lease.claim.key));
            assert!(batch.iter().all(|lease| alike(lease) == alike(&batch[0])));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_ended_after_it_became_due_is_not_renewed() {
        let world = InProcess::new();
        let attempt = Attempt::new(Key::new("", "k").unwrap(), Duration::from_secs(10), false);
        let Ok(AttemptAnswer::Granted { token, lease }) = world.attempt(&attempt).await else {
            panic!("it is not held");
        };
        let backend: Arc<dyn Backend> = Arc::new(world);
        let lease = Arc::new(Lease::new(
            &backend,
            attempt.claim(token),
            lease,
            LeaseInstant::now(),
            &AcquireOptions::default(),
            Runtime::current().unwrap(),
        ));
        tokio::time::advance(Duration::from_secs(4)).await;
        lease.end(EndReason::Released).unwrap();
        let _looks = renew_batch(
            vec![Arc::clone(&lease)],
            Arc::clone(&backend),
            Limits::default(),
            TickAligner::begin(),
        )
        .await;
        let seen = backend.inspect(&attempt.key).await.unwrap();
        assert_eq!(seen.expires_in, Some(Duration::from_secs(6)));
    }
}
