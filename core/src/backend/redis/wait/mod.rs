//! How the waiters of this process wait: notifications, and locks that are passed on inside the process.

pub(crate) mod local_waiter;
pub(crate) mod parked_waiters;
pub(crate) mod waiter_registry;
