//! Renews leases by heartbeats that the leader has received.

use std::sync::Arc;

use super::attempt_registry::{NodeLocation, RegisteredAttempt};
use super::backend_context::Context;
use super::error::{ends_session, failed};
use super::reader_token;
use super::session::Session;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::{BackendError, Claim, Mode, RenewAnswer};

type ClaimResult = Result<RenewAnswer, BackendError>;

/// A claim with a node that may exist.
struct RenewCandidate<'a> {
    /// The index of the claim.
    index: usize,
    claim: &'a Claim,
    entry: Arc<RegisteredAttempt>,
    path: String,
}

/// Sends one request for all claims to the leader, which checks whether their nodes still exist.
pub(super) async fn renew(parts: &Context, claims: &[Claim]) -> Vec<ClaimResult> {
    let begun = LeaseInstant::now();
    let session = match parts.link.session().await {
        Ok(session) => session,
        Err(error) => return vec![Err(error)],
    };
    let mut answers: Vec<ClaimResult> = claims.iter().map(|_| Ok(RenewAnswer::Gone)).collect();
    let candidates = claims.iter().enumerate();
    let candidates = candidates.filter_map(|(at, claim)| candidate(parts, &session, at, claim));
    let mut candidates: Vec<RenewCandidate<'_>> = candidates.collect();
    while !candidates.is_empty() {
        let paths: Vec<String> = candidates.iter().map(|c| c.path.clone()).collect();
        match session.first_missing(&paths).await {
            Ok(None) => break,
            Ok(Some(missing)) if missing < candidates.len() => {
                let gone = candidates.remove(missing);
                gone.entry.facts.lock().at = NodeLocation::Nowhere;
                parts.registry.forget(&gone.entry);
            }
            Ok(Some(_)) => {
                return vec![Err(BackendError::unknown(
                    "the server's reply has no count",
                ))];
            }
            // All claims ended with the session.
            Err(error) if ends_session(&error) => return answers,
            Err(error) => {
                for candidate in candidates {
                    answers[candidate.index] = Err(failed(&error));
                }
                return answers;
            }
        }
    }
    for candidate in candidates {
        answers[candidate.index] = Ok(extended(&session, begun, &candidate));
    }
    answers
}

/// Returns this process's entry for a claim, or `None` if the claim has definitely ended.
fn candidate<'a>(
    parts: &Context,
    session: &Session,
    index: usize,
    claim: &'a Claim,
) -> Option<RenewCandidate<'a>> {
    let entry = parts.registry.get(claim.owner)?;
    if entry.session != session.number {
        parts.registry.forget(&entry);
        return None;
    }
    let path = {
        let facts = entry.facts.lock();
        let held = facts.token == Some(claim.token) && facts.leaving.is_none();
        match &facts.at {
            NodeLocation::There(node) if held => node.path.clone(),
            _ => return None,
        }
    };
    Some(RenewCandidate {
        index,
        claim,
        entry,
        path,
    })
}

fn extended(session: &Session, begun: LeaseInstant, candidate: &RenewCandidate<'_>) -> RenewAnswer {
    let mut facts = candidate.entry.facts.lock();
    // The caller may have released the claim during the request to the leader.
    if facts.leaving.is_some() {
        return RenewAnswer::Gone;
    }
    facts.until = LeaseInstant::now().after(candidate.claim.ttl);
    RenewAnswer::Extended {
        lease: session.lease_from(begun).min(candidate.claim.ttl),
    }
}

/// Records in a writer's node that the writer is now a reader. This change notifies the waiting readers.
pub(super) async fn downgrade(parts: &Context, claim: &Claim) -> ClaimResult {
    let begun = LeaseInstant::now();
    let session = parts.link.session().await?;
    let Some(candidate) = candidate(parts, &session, 0, claim) else {
        return Ok(RenewAnswer::Gone);
    };
    match session
        .write_data(&candidate.path, reader_token::DOWNGRADED, None)
        .await
    {
        Ok(true) => {
            candidate.entry.facts.lock().mode = Mode::Shared;
            Ok(extended(&session, begun, &candidate))
        }
        Ok(false) => Ok(RenewAnswer::Gone),
        Err(error) if ends_session(&error) => Ok(RenewAnswer::Gone),
        Err(error) => Err(failed(&error)),
    }
}
