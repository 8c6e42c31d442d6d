//! Checks that the complete protocol satisfies its claims in every state of every world, and that the expected events
//! occur.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[macro_use]
#[allow(unused_macros, reason = "each test uses one")]
mod tools;

use leasehold_model::{Setup, example, explore, setup, setups};

worlds! {
    over 10_000 states:
    late_copies "late-copies"
    three_attempts "three-attempts"
    passing "passing"
    passing_three "passing-three"
    parked "parked"
    batches "batches"
    deaf_processes "deaf-processes"
    foreign_lockers "foreign-lockers"
    short_ttl "short-ttl"
    rounding "rounding"
    drifting_clocks "drifting-clocks"
    old_news "old-news"
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
    lost_wake_ups "lost-wake-ups"
    reconnections "reconnections"
    foreign_release "foreign-release"
    foreign_delete "foreign-delete"
    promotion "promotion"
    once_deaths "once-deaths"
}
