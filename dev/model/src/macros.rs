//! What is written once for both models.

macro_rules! weakenings {
    ($($rule:ident: $name:literal, $says:literal, in $setup:literal breaks $($claim:ident)*;)*) => {
        /// A rule that is left out.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Weakening {
            $(#[doc = concat!("Left out: ", $says, ".")] $rule,)*
        }

        impl Weakening {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$rule,)*];

            /// What the protocol without the rule is called.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// What is done in place of the rule.
            #[must_use]
            pub fn says(self) -> &'static str {
                match self { $(Self::$rule => $says,)* }
            }

            /// The setup that shows it.
            #[must_use]
            pub fn shown_in(self) -> &'static str {
                match self { $(Self::$rule => $setup,)* }
            }

            /// The claims that do not hold without the rule; the first is what it is there for.
            #[must_use]
            pub fn breaks(self) -> &'static [Claim] {
                match self { $(Self::$rule => &[$(Claim::$claim),*],)* }
            }
        }
    };
}

macro_rules! reachable {
    ($($name:ident, $word:literal;)*) => {
        /// Something that must be possible.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reachable {
            $(#[doc = $word] $name,)*
        }

        impl Reachable {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What it is.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

/// Exploring a setup.
macro_rules! explorations {
    () => {
        /// Visits every state of the setup and checks its claims in each, also beyond violations.
        #[must_use]
        pub fn explore(setup: &Setup) -> Explored {
            let exploration = Exploration {
                setup: *setup,
                claims: setup.claims.to_vec(),
            };
            visit(exploration, setup.claims)
        }

        /// A shortest way to a state in which the claim does not hold. If nodes and rounds are anonymous, they change their
        /// names on it.
        #[must_use]
        pub fn counterexample(setup: &Setup, claim: Claim) -> Option<Trace> {
            let exploration = Exploration {
                setup: *setup,
                claims: vec![claim],
            };
            shortest(exploration, claim.name())
        }

        /// A shortest way to a state in which it was seen.
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
