//! A lock for each request of any Tower service, HTTP or not.

mod error;
mod future;
mod key;
mod lock;

pub use self::error::LockServiceError;
pub use self::future::LockFuture;
pub use self::key::LockKey;
pub use self::lock::Lock;
