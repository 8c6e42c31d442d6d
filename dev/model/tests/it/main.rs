//! Explorations of both models: with all rules every claim holds, and without a rule its claims do not.

#[macro_use]
mod tools;

mod claims;
mod quorum_claims;
mod quorum_weakened;
mod weakened;
