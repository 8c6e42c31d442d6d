//! Runs requests with an idempotency key, and returns the recorded response to their repeats.

mod content;
mod in_locks;
mod layer;
mod options;
mod recorded;
#[cfg(feature = "sqlx")]
mod request;
mod service;
#[cfg(feature = "sqlx")]
mod sql;
mod store;
mod work;

pub use self::layer::IdempotencyLayer;
pub use self::options::{
    DEFAULT_KEEP, DEFAULT_MAX_BUFFERED_BYTES, DEFAULT_MAX_REQUEST_BYTES,
    DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_RECORDED_HEADERS, MAX_RESPONSE_BYTES,
};
pub use self::recorded::IDEMPOTENCY_REPLAYED;
#[cfg(feature = "sqlx")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlx")))]
pub use self::request::IdempotentRequest;
pub use self::service::IdempotencyService;
