//! Checks of the workspace's structure.
//!
//! | check | fails when |
//! |---|---|
//! | [`Check::Sizes`] | the median source file, or a single one, is too long |
//! | [`Check::Circles`] | modules depend on each other in a cycle |
//! | [`Check::Guarantees`] | a guarantee names no test, or one that does not exist |
//! | [`Check::Dependencies`] | a published crate depends on, or imports, one that it must not know |
//! | [`Check::Api`] | a published crate shows a crate that is not in its `public-dependencies` |
//!
//! Most checks read `src/**/*.rs` of every member of the workspace. The cycles are checked only in libraries. The check
//! of guarantees also reads tests.

mod api;
mod check;
mod circles;
mod collector;
mod dependencies;
mod graph;
mod guarantees;
mod imports;
mod map;
mod named_tests;
mod reader;
mod resolve;
mod signatures;
mod sizes;
mod sources;
mod syntax;
mod tokens;
mod verdict;

pub use check::Check;
pub use dependencies::ALLOWED;
pub use sizes::{MEDIAN_LIMIT, SINGLE_LIMIT};
pub use verdict::Verdict;
