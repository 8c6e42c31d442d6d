//! Helpers of the larger examples. The examples are in `src/bin` and `examples`.

mod chain;
mod exit;
mod member;
mod redis_server;

pub use self::chain::Chain;
pub use self::exit::{ended, usage};
pub use self::member::Member;
pub use self::redis_server::{RedisServer, RedisServerError, connection};

/// A boxed error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
