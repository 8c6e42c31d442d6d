//! One deployment with one fault, from its start to its verdict.

mod observed;
mod perform;
mod place;
mod verdict;

pub use self::place::Cell;
pub use self::verdict::{Control, OfStore, Verdict};
