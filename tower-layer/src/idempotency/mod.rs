//! Runs requests with an idempotency key, and returns the recorded response to their repeats.

mod body_fingerprint;
mod layer;
mod options;
#[cfg(feature = "sqlx")]
mod record_in_transaction;
mod recorded_response;
mod run_or_replay;
mod service;
mod store;
mod store_in_locks;
#[cfg(feature = "sqlx")]
mod store_in_sql;

pub use self::layer::IdempotencyLayer;
pub use self::options::{
    DEFAULT_KEEP, DEFAULT_MAX_BUFFERED_BYTES, DEFAULT_MAX_REQUEST_BYTES,
    DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_RECORDED_HEADERS, MAX_RESPONSE_BYTES,
};
#[cfg(feature = "sqlx")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlx")))]
pub use self::record_in_transaction::IdempotentRequest;
pub use self::recorded_response::IDEMPOTENCY_REPLAYED;
pub use self::service::IdempotencyService;
