//! Checks that the protocol without one of its rules violates exactly the claims of this rule.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[macro_use]
#[allow(unused_macros, reason = "each test uses one")]
mod tools;

use std::collections::BTreeSet;

use strum::VariantArray;

use leasehold_model::{Claim, Weakening, counterexample, explore, weakened};

rules! {
    guard_from_wake_up "guard-from-wake-up"
    reply_to_any_copy "reply-to-any-copy"
    resend_keeps_ttl "resend-keeps-ttl"
    blind_delete "blind-delete"
    no_margin "no-margin"
    second_copy_draws "second-copy-draws"
    entry_decides "entry-decides"
    no_time_floor "no-time-floor"
    token_re_read "token-re-read"
    renewal_by_token "renewal-by-token"
    renewal_by_owner "renewal-by-owner"
    no_expiry "no-expiry"
    no_seal "no-seal"
    seal_by_stopwatch "seal-by-stopwatch"
    own_place_kept "own-place-kept"
    only_head_looks "only-head-looks"
    any_other_waiter "any-other-waiter"
    only_delete "only-delete"
    no_pause "no-pause"
    no_healing "no-healing"
    place_outlives_grant "place-outlives-grant"
    deaf_are_granted "deaf-are-granted"
    no_first_of_process "no-first-of-process"
    queue_ignored "queue-ignored"
    place_popped_at_grant "place-popped-at-grant"
    unfair_are_granted "unfair-are-granted"
    one_unfair_is_told "one-unfair-is-told"
    one_unfair_looks "one-unfair-looks"
    pass_does_not_age "pass-does-not-age"
    pass_drawn_by_giver "pass-drawn-by-giver"
    passed_out_of_turn "passed-out-of-turn"
    passed_for_ttl "passed-for-ttl"
    pass_taken_for_ttl "pass-taken-for-ttl"
    passed_by_anybody "passed-by-anybody"
    seal_of_named_ignored "seal-of-named-ignored"
    named_not_noted "named-not-noted"
    parked_out_of_turn "parked-out-of-turn"
    batch_reads_once "batch-reads-once"
    releases_not_repeated "releases-not-repeated"
    record_by_anyone "record-by-anyone"
    record_by_owner "record-by-owner"
    any_outcome_confirms "any-outcome-confirms"
    outcome_not_found "outcome-not-found"
    record_without_seal "record-without-seal"
    found_without_cleanup "found-without-cleanup"
    record_keeps_queue "record-keeps-queue"
    record_notifies_no_waiter "record-notifies-no-waiter"
}

#[test]
fn every_claim_has_a_rule_that_serves_it() {
    for &claim in Claim::VARIANTS {
        let breaks = |rule: &&Weakening| rule.breaks().first() == Some(&claim);
        let rule = Weakening::ALL.iter().find(breaks);
        assert!(rule.is_some(), "{}", claim.name());
    }
}
