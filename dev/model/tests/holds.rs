//! The whole protocol keeps what it claims, in every state of every world, and the worlds are not empty.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use leasehold_model::{Setup, example, explore, setup, setups};

/// The world of that name, in which every claim holds and everything reachable can be seen.
fn check(name: &str) {
    let setup = setup(name).unwrap();
    let explored = explore(&setup);
    assert_eq!(explored.violated, [], "in {explored:?}");
    assert!(explored.states > 10_000, "{explored:?}");
    assert!(!setup.claims.is_empty() && !setup.reachable.is_empty());
    for &reachable in setup.reachable {
        assert!(
            example(&setup, reachable).is_some(),
            "never seen: {}",
            reachable.name()
        );
    }
}

macro_rules! worlds {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn every_world_is_tested() {
            let tested = [$($name),*];
            let all: Vec<&str> = setups().iter().map(|it: &Setup| it.name).collect();
            assert_eq!(all, tested);
        }
    };
}

worlds! {
    late_copies "late-copies"
    three_attempts "three-attempts"
    passing "passing"
    passing_three "passing-three"
    deaf_processes "deaf-processes"
    foreign_lockers "foreign-lockers"
    short_ttl "short-ttl"
    rounding "rounding"
    drifting_clocks "drifting-clocks"
    old_news "old-news"
    early_expiry "early-expiry"
    early_expiry_three "early-expiry-three"
    memory_loss "memory-loss"
    deaths "deaths"
    deaths_and_cancels "deaths-and-cancels"
    one_process "one-process"
    two_processes "two-processes"
    lost_wake_ups "lost-wake-ups"
    reconnections "reconnections"
    foreign_release "foreign-release"
    foreign_delete "foreign-delete"
    promotion "promotion"
}
