//! One deployment and one fault, from start to verdict.

mod observed;
mod perform;
mod place;
mod verdict;

pub use self::place::Cell;
pub use self::verdict::{OfStore, Verdict};
