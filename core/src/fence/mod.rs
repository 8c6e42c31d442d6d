//! Checks fencing tokens, on the side of the resource.

mod memory;
#[cfg(feature = "redis")]
mod redis;
mod store;

pub use memory::InProcessFenceStore;
#[cfg(feature = "redis")]
pub use redis::{
    FencedPipeline, FencedPipelineError, MAX_COMMAND_ARGS, RedisFenceStore, RedisReply,
};
pub use store::FenceStore;
