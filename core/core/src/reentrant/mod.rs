//! Locks that their owner can acquire again. The owner is a scope, and all tasks in the scope use one lease.
//!
//! # Implementation details
//!
//! The guards of a scope have one [`Hold`](crate::engine::Hold) in an `Arc`, and the last guard drops it. The scope
//! itself has only weak references, so it does not keep a lock held.

mod hold_registry;
mod release_outcome;
mod scope;

pub use release_outcome::ReentrantRelease;
pub use scope::ReentrancyScope;
pub(crate) use scope::held_by_outer_scope;
