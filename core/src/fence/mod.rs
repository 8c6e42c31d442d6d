//! Checks fencing tokens, on the side of the resource.

mod error;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod stale;
mod store;

pub use error::AdmitError;
pub use memory::InProcessFenceStore;
#[cfg(feature = "redis")]
pub use redis::{
    FencedPipeline, FencedPipelineError, MAX_COMMAND_WORDS, RedisFenceStore, RedisReply,
};
pub use stale::Stale;
pub use store::FenceStore;
