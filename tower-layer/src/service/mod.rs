//! Locks the calls of any Tower service, not only of HTTP services.

mod error;
mod future;
mod key;
mod lock;

pub use self::error::LockServiceError;
pub use self::future::LockFuture;
pub use self::key::LockKey;
pub use self::lock::LockedService;
