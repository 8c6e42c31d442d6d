//! Checks that the complete protocol satisfies its claims in every state of every world, and that the expected events
//! occur.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use leasehold_model::{Setup, example, explore, explore_up_to, setup, setups};

worlds! {
    over 10_000 states:
    late_duplicates "late-duplicates"
    three_attempts "three-attempts"
    hand_off "hand-off"
    hand_off_three "hand-off-three"
    parked "parked"
    batches "batches"
    unsubscribed_processes "unsubscribed-processes"
    foreign_lockers "foreign-lockers"
    short_ttl "short-ttl"
    rounding "rounding"
    drifting_clocks "drifting-clocks"
    overestimated_server_clock "overestimated-server-clock"
    early_expiry "early-expiry"
    early_expiry_three "early-expiry-three"
    memory_loss "memory-loss"
    once "once"
    once_forced "once-forced"
    deaths "deaths"
    deaths_and_cancels "deaths-and-cancels"
    one_process "one-process"
    two_processes "two-processes"
    long_leases "long-leases"
    parked_two_processes "parked-two-processes"
    unfair "unfair"
    lost_notifications "lost-notifications"
    reconnections "reconnections"
    foreign_release "foreign-release"
    foreign_delete "foreign-delete"
    promotion "promotion"
    once_deaths "once-deaths"
}
