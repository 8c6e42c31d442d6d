//! Macros that both models use.

macro_rules! weakenings {
    ($($rule:ident: $name:literal, $says:literal, in $setup:literal breaks $($claim:ident)*;)*) => {
        /// A rule of the protocol that is left out.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Weakening {
            $(#[doc = concat!("Left out: ", $says, ".")] $rule,)*
        }

        impl Weakening {
            /// All weakenings.
            pub const ALL: &'static [Self] = &[$(Self::$rule,)*];

            /// Returns the name of the protocol without the rule.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// Returns what happens without the rule.
            #[must_use]
            pub fn says(self) -> &'static str {
                match self { $(Self::$rule => $says,)* }
            }

            /// Returns the name of the setup that shows the necessity of the rule.
            #[must_use]
            pub fn shown_in(self) -> &'static str {
                match self { $(Self::$rule => $setup,)* }
            }

            /// Returns the claims that do not hold without the rule. The first one is the purpose of the rule.
            #[must_use]
            pub fn breaks(self) -> &'static [Claim] {
                match self { $(Self::$rule => &[$(Claim::$claim),*],)* }
            }
        }
    };
}

macro_rules! reachable {
    ($($name:ident, $word:literal;)*) => {
        /// An event that must be possible.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reachable {
            $(#[doc = $word] $name,)*
        }

        impl Reachable {
            /// All events.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the description of the event.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

/// Defines the functions that explore a setup.
macro_rules! explorations {
    () => {
        /// Visits every state of the setup, and checks its claims in each state. Continues after violations.
        #[must_use]
        pub fn explore(setup: &Setup) -> Explored {
            let exploration = Exploration {
                setup: *setup,
                claims: setup.claims.to_vec(),
            };
            visit(exploration, setup.claims, None)
        }

        /// Explores the setup like [`explore`], but visits only about `limit` states, beginning with those that need the
        /// fewest steps.
        #[must_use]
        pub fn explore_up_to(setup: &Setup, limit: NonZero<usize>) -> Explored {
            let exploration = Exploration {
                setup: *setup,
                claims: setup.claims.to_vec(),
            };
            visit(exploration, setup.claims, Some(limit))
        }

        /// Returns a shortest path to a state in which the claim does not hold. Anonymous nodes and rounds may change
        /// their names on the path.
        #[must_use]
        pub fn counterexample(setup: &Setup, claim: Claim) -> Option<Trace> {
            let exploration = Exploration {
                setup: *setup,
                claims: vec![claim],
            };
            shortest(exploration, claim.name())
        }

        /// Returns a shortest path to a state in which the event has occurred.
        #[must_use]
        pub fn example(setup: &Setup, reachable: Reachable) -> Option<Trace> {
            let exploration = Exploration {
                setup: Setup {
                    looks_for: Some(reachable),
                    ..*setup
                },
                claims: Vec::new(),
            };
            shortest(exploration, REACHABLE)
        }

        fn shortest(exploration: Exploration, name: &'static str) -> Option<Trace> {
            let setup = exploration.setup;
            let way = nearest(exploration, name)?;
            Some(trace_text::describe(&setup, &way))
        }
    };
}

pub(crate) use {explorations, reachable, weakenings};
