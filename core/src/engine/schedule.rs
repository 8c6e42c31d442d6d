//! When the watchdog looks at a lease, and how long it waits for an answer.
//!
//! # Implementation details
//!
//! A lease is renewed when a third of it is over, a little sooner by chance, so that leases that were
//! taken together drift apart. After a failure the next try follows within a twentieth of it, and sooner
//! as the deadline comes closer. One try may take a sixth, so that a hanging one leaves time for others.

use std::time::Duration;

use super::Lease;
use super::call::jittered;
use crate::clock::Moment;
use crate::options::Limits;

const SOONEST_RETRY: Duration = Duration::from_millis(5);
const LATEST_RETRY: Duration = Duration::from_secs(1);

/// What the watchdog does with a lease that is due.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Renew,
    LookAgain(Moment),
    Forget,
}

pub(super) fn step(lease: &Lease) -> Step {
    match lease.validity() {
        Err(_ended) => Step::Forget,
        Ok(_) if lease.is_renewed() => Step::Renew,
        Ok(left) => Step::LookAgain(Moment::now().after(left)),
    }
}

/// When to look at a lease that was granted or renewed just now.
pub(super) fn after_success(lease: &Lease) -> Moment {
    if lease.is_renewed() {
        within(lease, jittered(lease.length() / 3))
    } else {
        within(lease, Duration::MAX)
    }
}

/// When to look at a lease that could not be renewed.
pub(super) fn after_failure(lease: &Lease) -> Moment {
    let left = lease.validity().unwrap_or_default();
    let pause = (lease.length() / 20).min(LATEST_RETRY).min(left / 4);
    within(lease, jittered(pause.max(SOONEST_RETRY)))
}

/// How long an answer about these leases is waited for.
pub(super) fn answer_limit<'a>(
    leases: impl IntoIterator<Item = &'a Lease>,
    limits: Limits,
) -> Duration {
    leases
        .into_iter()
        .map(|lease| lease.length() / 6)
        .fold(limits.command, Duration::min)
}

/// No later than the end of the lease, which has to be noticed too.
fn within(lease: &Lease, pause: Duration) -> Moment {
    let left = lease.validity().unwrap_or_default();
    Moment::now().after(pause.min(left))
}
