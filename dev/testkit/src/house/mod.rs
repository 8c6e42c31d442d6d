//! Structure checks: what the house must look like whatever its rooms hold.
//!
//! | check | fails when |
//! |---|---|
//! | [`Check::Sizes`] | the median source file, or a single one, is too long |
//! | [`Check::Circles`] | modules depend on each other in a circle |
//! | [`Check::Leftovers`] | `todo!`, `dbg!` or `unimplemented!` is left in a source |
//!
//! They look at `src/**/*.rs` of every member of the workspace, the circles at
//! the libraries among them.

mod check;
mod circles;
mod graph;
mod imports;
mod leftovers;
mod map;
mod reader;
mod resolve;
mod scribe;
mod sizes;
mod sources;
mod syntax;
mod tokens;
mod verdict;

pub use check::Check;
pub use sizes::{MEDIAN_LIMIT, SINGLE_LIMIT};
pub use verdict::Verdict;
