//! Checks that the quorum protocol without one of its rules violates exactly the claims of this rule.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[macro_use]
#[allow(unused_macros, reason = "each test uses one")]
mod tools;

use std::collections::BTreeSet;

use leasehold_model::Claim;
use leasehold_model::quorum::{Weakening, counterexample, explore, setups, weakened};

rules! {
    one_phase "one-phase"
    raise_not_mine "raise-not-mine"
    ack_at_least "ack-at-least"
    half_is_enough "half-is-enough"
    majority_of_granted "majority-of-granted"
    extension_by_owner "extension-by-owner"
    extension_by_token "extension-by-token"
    quorum_no_floor "quorum-no-floor"
    hint_only "hint-only"
    hint_believed "hint-believed"
    back_at_once "back-at-once"
    back_after_clocks "back-after-clocks"
    back_on_time "back-on-time"
    failover_too_soon "failover-too-soon"
    old_state_too_early "old-state-too-early"
    counter_ends_early "counter-ends-early"
    quorum_no_expiry "quorum-no-expiry"
    quorum_no_seal "quorum-no-seal"
    extension_by_minority "extension-by-minority"
    validity_unchecked "validity-unchecked"
    validity_from_raise "validity-from-raise"
    failed_extension_releases "failed-extension-releases"
    quorum_no_margin "quorum-no-margin"
    release_forgets "release-forgets"
    back_before_ttl "back-before-ttl"
    back_before_expiry "back-before-expiry"
}

#[test]
fn every_claim_has_a_rule_that_serves_it() {
    for claim in setups().iter().flat_map(|it| it.claims) {
        let breaks = |rule: &&Weakening| rule.breaks().contains(claim);
        let rule = Weakening::ALL.iter().find(breaks);
        assert!(rule.is_some(), "{}", claim.name());
    }
}
