//! Macros that the tests of both models share.

use std::num::NonZero;

/// The number of states that `cargo test` visits in each world.
pub(crate) const STATES: NonZero<usize> = NonZero::new(60_000).unwrap();

/// Returns whether the tests visit all states. `cargo xtask explore` sets this variable.
pub(crate) fn is_deep() -> bool {
    std::env::var_os("LEASEHOLD_DEPTH").is_some()
}

macro_rules! worlds {
    (over $least:literal states: $($test:ident $name:literal)*) => {
        /// Checks that every claim holds in the first states of the world with this name, or in every state, and that
        /// every expected event occurs.
        fn check(name: &str) {
            let setup = setup(name).unwrap();
            assert!(!setup.claims.is_empty() && !setup.reachable.is_empty());
            if !crate::tools::is_deep() {
                let explored = explore_up_to(&setup, crate::tools::STATES);
                assert_eq!(explored.violated, [], "in {explored:?}");
                return;
            }
            let explored = explore(&setup);
            assert_eq!(explored.violated, [], "in {explored:?}");
            assert!(explored.states > $least, "{explored:?}");
            for &reachable in setup.reachable {
                assert!(
                    example(&setup, reachable).is_some(),
                    "never seen: {}",
                    reachable.name()
                );
            }
        }

        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn each_world_has_a_test() {
            let tested = [$($name),*];
            let all: Vec<&str> = setups().iter().map(|it: &Setup| it.name).collect();
            assert_eq!(all, tested);
        }
    };
}

macro_rules! rules {
    ($($test:ident $name:literal)*) => {
        /// Checks that the weakened protocol with this name violates the expected claims, and that a counterexample can
        /// be described. If all states are visited, it violates no other claim.
        fn check(name: &str) {
            let rule = *Weakening::ALL.iter().find(|it| it.name() == name).unwrap();
            let setup = weakened(rule).unwrap();
            let expected: BTreeSet<Claim> = rule.breaks().iter().copied().collect();
            if crate::tools::is_deep() {
                let violated: BTreeSet<Claim> = explore(&setup).violated.into_iter().collect();
                assert_eq!(violated, expected);
            }
            for claim in expected {
                let trace = counterexample(&setup, claim).unwrap();
                assert_eq!(trace.to_string().lines().count(), trace.steps());
                assert!(trace.steps() > 3, "{trace}");
            }
        }

        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn each_rule_has_a_test() {
            let tested = [$($name),*];
            let all: Vec<&str> = Weakening::ALL.iter().map(|it| it.name()).collect();
            assert_eq!(all, tested);
        }
    };
}
