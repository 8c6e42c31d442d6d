//! Locks HTTP requests.

mod layer;
mod options;
mod run_under_lock;
mod service;

pub use self::layer::LockLayer;
pub use self::options::{DEFAULT_MAX_HOLD, OnDisconnect};
pub use self::service::LockService;
