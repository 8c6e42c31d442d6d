//! Locks for code without async.
//!
//! A [`LockManager`] of this module has a separate thread, which renews the leases while your code blocks. Its methods
//! correspond to methods of the async [`LockManager`](crate::LockManager), and block the calling thread. Use it in
//! command line tools, in threads, and in libraries that are not async. Inside an async runtime use the async API. A
//! blocking call would block the runtime, so it returns [`BlockingError::InsideRuntime`] there.
//!
//! # Examples
//!
//! ```
//! # fn main() -> Result<(), leasehold::Error> {
//! use leasehold::blocking::LockManager;
//!
//! let locks = LockManager::in_process()?;
//! let guard = locks.lock("order:42").acquire()?;
//! // The lease is renewed while this thread works.
//! let token = guard.token();
//! guard.release()?;
//!
//! let later = locks.lock("order:42").run(|lock| Ok::<_, leasehold::Error>(lock.token()))?;
//! assert!(later > token);
//! locks.shutdown()?;
//! # Ok(())
//! # }
//! ```

mod blocking_runtime;
mod guard;
mod lock;
mod manager;
mod rw_lock;

pub use guard::LockGuard;
pub use lock::Lock;
pub use manager::LockManager;
pub use rw_lock::RwLock;

pub use crate::error::BlockingError;
