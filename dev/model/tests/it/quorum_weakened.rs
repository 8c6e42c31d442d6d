//! Checks that the quorum protocol without one of its rules violates exactly the claims of this rule.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use leasehold_model::Claim;
use leasehold_model::quorum::{Weakening, counterexample, explore, setups, weakened};

rules! {
    one_phase "one-phase"
    raise_without_owner_check "raise-without-owner-check"
    raise_acknowledged_above_the_token "raise-acknowledged-above-the-token"
    half_is_enough "half-is-enough"
    majority_of_granted "majority-of-granted"
    extension_by_owner "extension-by-owner"
    extension_by_token "extension-by-token"
    quorum_no_floor "quorum-no-floor"
    hint_only "hint-only"
    hint_without_limit "hint-without-limit"
    vote_immediately_after_state_loss "vote-immediately-after-state-loss"
    vote_after_clock_difference "vote-after-clock-difference"
    vote_exactly_at_the_limit "vote-exactly-at-the-limit"
    failover_too_soon "failover-too-soon"
    old_state_too_early "old-state-too-early"
    counter_ends_early "counter-ends-early"
    quorum_no_expiry "quorum-no-expiry"
    quorum_no_tombstone "quorum-no-tombstone"
    extension_by_minority "extension-by-minority"
    validity_unchecked "validity-unchecked"
    validity_from_raise "validity-from-raise"
    failed_extension_releases "failed-extension-releases"
    quorum_no_margin "quorum-no-margin"
    release_deletes_counter "release-deletes-counter"
    vote_before_ttl "vote-before-ttl"
    vote_before_expiry "vote-before-expiry"
}

#[test]
fn each_claim_is_violated_without_some_rule() {
    for claim in setups().iter().flat_map(|it| it.claims) {
        let breaks = |rule: &&Weakening| rule.breaks().contains(claim);
        let rule = Weakening::ALL.iter().find(breaks);
        assert!(rule.is_some(), "{}", claim.name());
    }
}
