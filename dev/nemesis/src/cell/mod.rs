//! One deployment and one fault, from start to verdict.

mod perform;
mod place;
mod sight;
mod verdict;

pub use self::place::Cell;
pub use self::verdict::{OfStore, Verdict};
