//! How the waiters of this process wait: queues, notifications, and locks that are passed on inside the process.

pub(crate) mod local_queue;
pub(crate) mod release_in_flight;
pub(crate) mod waiter_registry;
mod wake_ups;
