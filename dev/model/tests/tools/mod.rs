//! Macros that the tests of both models share.

macro_rules! worlds {
    (over $least:literal states: $($test:ident $name:literal)*) => {
        /// Checks that every claim holds in the world with this name, and that every expected event occurs.
        fn check(name: &str) {
            let setup = setup(name).unwrap();
            let explored = explore(&setup);
            assert_eq!(explored.violated, [], "in {explored:?}");
            assert!(explored.states > $least, "{explored:?}");
            assert!(!setup.claims.is_empty() && !setup.reachable.is_empty());
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
        fn every_world_is_tested() {
            let tested = [$($name),*];
            let all: Vec<&str> = setups().iter().map(|it: &Setup| it.name).collect();
            assert_eq!(all, tested);
        }
    };
}

macro_rules! rules {
    ($($test:ident $name:literal)*) => {
        /// Checks that the weakened protocol with this name violates the expected claims and no other, and that a
        /// counterexample can be described.
        fn check(name: &str) {
            let rule = *Weakening::ALL.iter().find(|it| it.name() == name).unwrap();
            let setup = weakened(rule).unwrap();
            let violated: BTreeSet<Claim> = explore(&setup).violated.into_iter().collect();
            let expected: BTreeSet<Claim> = rule.breaks().iter().copied().collect();
            assert_eq!(violated, expected);
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
        fn every_rule_is_tested() {
            let tested = [$($name),*];
            let all: Vec<&str> = Weakening::ALL.iter().map(|it| it.name()).collect();
            assert_eq!(all, tested);
        }
    };
}
