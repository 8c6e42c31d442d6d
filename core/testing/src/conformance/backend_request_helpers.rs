//! Single requests to a backend, for the cases about its trait.

use std::time::Duration;

use super::helpers::insist;
use leasehold_core::Key;
use leasehold_core::backend::{
    Attempt, Backend, BackendError, Claim, Inspection, Mode, ReleaseAnswer, RenewAnswer,
};

const TTL: Duration = Duration::from_secs(30);

pub(super) fn trying(key: &Key, mode: Mode) -> Attempt {
    Attempt::new(key.clone(), TTL, false).in_mode(mode)
}

pub(super) fn queueing(key: &Key, mode: Mode) -> Attempt {
    Attempt::new(key.clone(), TTL, true).in_mode(mode)
}

pub(super) const fn permits(count: u32, of: u32) -> Mode {
    Mode::Permits { count, of }
}

pub(super) async fn release(backend: &impl Backend, claim: &Claim) -> ReleaseAnswer {
    insist(async || backend.release(claim).await).await
}

pub(super) async fn downgrade(backend: &impl Backend, claim: &mut Claim) -> bool {
    let answer = insist(async || backend.downgrade(claim).await).await;
    claim.mode = Mode::Shared;
    matches!(answer, RenewAnswer::Extended { .. })
}

pub(super) async fn inspect(backend: &impl Backend, key: &Key) -> Inspection {
    insist(async || backend.inspect(key).await).await
}

pub(super) async fn renew_once(
    backend: &impl Backend,
    claim: &Claim,
) -> Result<RenewAnswer, BackendError> {
    let mut answers = backend.renew(std::slice::from_ref(claim)).await;
    answers.pop().expect("an answer per claim")
}

pub(super) async fn is_held(backend: &impl Backend, claim: &Claim) -> bool {
    let answer = insist(async || renew_once(backend, claim).await).await;
    matches!(answer, RenewAnswer::Extended { .. })
}
