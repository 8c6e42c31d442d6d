//! Checks that the complete quorum protocol satisfies its claims in every state of every world, and that the expected
//! events occur.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use leasehold_model::quorum::{
    Reachable, Setup, Weakening, example, explore, explore_up_to, setup, setups,
};
use leasehold_model::{Weakening as QueueWeakening, quorum, setups as queue_setups};

worlds! {
    over 1_000 states:
    quorum "quorum"
    quorum_duplicates "quorum-duplicates"
    quorum_extensions "quorum-extensions"
    later_replies "later-replies"
    three_rounds "three-rounds"
    three_rounds_fenced "three-rounds-fenced"
    four_nodes "four-nodes"
    five_nodes "five-nodes"
    quorum_restarts "quorum-restarts"
    quorum_old_state "quorum-old-state"
    quorum_idle "quorum-idle"
    one_server "one-server"
    quorum_guards "quorum-guards"
    quorum_releases "quorum-releases"
    quorum_leases "quorum-leases"
    quorum_drift "quorum-drift"
    quorum_empty_nodes "quorum-empty-nodes"
    lost_tombstones "lost-tombstones"
}

#[test]
fn each_reachable_event_is_expected_in_a_world() {
    for &reachable in Reachable::ALL {
        let looks = setups().iter().any(|it| it.reachable.contains(&reachable));
        assert!(looks, "{}", reachable.name());
    }
}

#[test]
fn names_of_worlds_and_rules_are_unique() {
    let mut names: Vec<&str> = queue_setups().iter().map(|it| it.name).collect();
    names.extend(setups().iter().map(|it| it.name));
    names.extend(quorum::large_setups().iter().map(|it| it.name));
    names.extend(QueueWeakening::ALL.iter().map(|it| it.name()));
    names.extend(Weakening::ALL.iter().map(|it| it.name()));
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
