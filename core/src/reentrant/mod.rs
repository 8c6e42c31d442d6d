//! Locks that their owner takes again: the owner is a scope, and those who act in it share one lease.
//!
//! # Implementation details
//!
//! The guards of a scope share one [`Hold`](crate::engine::Hold), and the last of them to go drops it: counting is
//! left to `Arc`. The scope itself keeps weak references only, so that it holds nothing.

mod hold_registry;
mod release_outcome;
mod scope;

pub use release_outcome::ReentrantReleaseOutcome;
pub use scope::OwnerScope;
pub(crate) use scope::held_by_outer_scope;
