//! Checks of the workspace's structure.
//!
//! | check | fails when |
//! |---|---|
//! | [`Check::Sizes`] | the median source file, or a single one, is too long |
//! | [`Check::Circles`] | modules depend on each other in a cycle |
//! | [`Check::Leftovers`] | `todo!`, `dbg!` or `unimplemented!` is left in a source |
//! | [`Check::Guarantees`] | a guarantee names no test, or one that does not exist |
//! | [`Check::Supply`] | a dependency has a licence, a source or a name that `deny.toml` does not allow |
//! | [`Check::Names`] | a module, type or function has a metaphor in its name |
//! | [`Check::Api`] | a published crate shows a crate that is not in its `public-dependencies` |
//! | [`Check::Links`] | a relative link in Markdown points to a file or a heading that does not exist |
//!
//! Most checks read `src/**/*.rs` of every member of the workspace. The cycles are checked only in libraries. The check
//! of guarantees also reads tests, the check of the supply chain runs cargo, and the check of links reads Markdown
//! files.

mod api;
mod check;
mod circles;
mod collector;
mod graph;
mod guarantees;
mod imports;
mod leftovers;
mod links;
mod map;
mod named_tests;
mod names;
mod reader;
mod resolve;
mod signatures;
mod sizes;
mod sources;
mod supply;
mod syntax;
mod tokens;
mod verdict;

pub use check::Check;
pub use sizes::{MEDIAN_LIMIT, SINGLE_LIMIT};
pub use verdict::Verdict;
