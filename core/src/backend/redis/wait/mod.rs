//! The waiters of this process: queues, notifications, and hand-offs inside the process.

pub(crate) mod local_queue;
pub(crate) mod release_in_flight;
pub(crate) mod waiter_registry;
mod wake_ups;
