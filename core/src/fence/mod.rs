//! Where fencing tokens are checked: the resource's side.

mod error;
mod in_process;
#[cfg(feature = "redis")]
mod redis;
mod stale;
mod store;

pub use self::error::AdmitError;
pub use self::in_process::InProcessFenceStore;
#[cfg(feature = "redis")]
pub use self::redis::{
    FencedPipeline, FencedPipelineError, MAX_COMMAND_WORDS, RedisFenceStore, RedisReply,
};
pub use self::stale::Stale;
pub use self::store::FenceStore;
