//! Checks that the protocol without one of its rules violates exactly the claims of this rule.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use strum::VariantArray;

use leasehold_model::{Claim, Weakening, counterexample, explore, weakened};

rules! {
    guard_without_confirmation "guard-without-confirmation"
    reply_to_any_duplicate "reply-to-any-duplicate"
    resend_keeps_ttl "resend-keeps-ttl"
    release_without_owner_check "release-without-owner-check"
    no_clock_margin "no-clock-margin"
    duplicate_draws_token "duplicate-draws-token"
    queue_position_identifies_duplicates "queue-position-identifies-duplicates"
    no_time_floor "no-time-floor"
    token_read_again "token-read-again"
    renewal_by_token "renewal-by-token"
    renewal_by_owner "renewal-by-owner"
    no_expiry "no-expiry"
    no_tombstone "no-tombstone"
    tombstone_by_client_clock "tombstone-by-client-clock"
    own_position_kept "own-position-kept"
    only_head_polls "only-head-polls"
    any_waiter_blocks_acquire "any-waiter-blocks-acquire"
    release_without_hand_off "release-without-hand-off"
    no_pause_between_polls "no-pause-between-polls"
    missing_ttl_not_repaired "missing-ttl-not-repaired"
    position_outlives_grant "position-outlives-grant"
    unsubscribed_are_granted "unsubscribed-are-granted"
    only_head_polls_at_expiry "only-head-polls-at-expiry"
    queue_ignored "queue-ignored"
    position_removed_at_grant "position-removed-at-grant"
    unfair_are_granted "unfair-are-granted"
    one_unfair_is_notified "one-unfair-is-notified"
    one_unfair_polls "one-unfair-polls"
    hand_off_lease_from_receipt "hand-off-lease-from-receipt"
    hand_off_token_by_previous_holder "hand-off-token-by-previous-holder"
    hand_off_out_of_turn "hand-off-out-of-turn"
    hand_off_for_ttl "hand-off-for-ttl"
    hand_off_accepted_for_ttl "hand-off-accepted-for-ttl"
    hand_off_without_owner_check "hand-off-without-owner-check"
    tombstone_of_parked_ignored "tombstone-of-parked-ignored"
    release_for_parked_not_noted "release-for-parked-not-noted"
    parked_out_of_turn "parked-out-of-turn"
    batch_reads_once "batch-reads-once"
    releases_not_repeated "releases-not-repeated"
    record_without_owner_check "record-without-owner-check"
    record_by_owner "record-by-owner"
    any_outcome_confirms "any-outcome-confirms"
    outcome_not_checked "outcome-not-checked"
    record_without_tombstone "record-without-tombstone"
    found_without_cleanup "found-without-cleanup"
    record_keeps_queue "record-keeps-queue"
    record_notifies_no_waiter "record-notifies-no-waiter"
}

#[test]
fn each_claim_is_violated_without_its_rule() {
    for &claim in Claim::VARIANTS {
        let breaks = |rule: &&Weakening| rule.breaks().first() == Some(&claim);
        let rule = Weakening::ALL.iter().find(breaks);
        assert!(rule.is_some(), "{}", claim.name());
    }
}
