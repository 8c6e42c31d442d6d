//! Checks fencing tokens, on the side of the resource.

mod memory;
mod store;

pub use memory::InProcessFenceStore;
pub use store::FenceStore;
