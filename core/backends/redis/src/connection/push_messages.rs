//! Receives push messages, and notices that a connection has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind};

use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::event;

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    in_use: AtomicBool,
    is_over: AtomicBool,
}

impl ConnectionState {
    /// Declares the connection as used. From then on the handler notifies waiters when the connection ends. Before this
    /// call the client only tests the connection.
    pub(crate) fn used(&self) {
        self.in_use.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Receives the push messages of a connection, which owns this value while it is driven. If the runtime of the
/// connection ends, this value is dropped without a message.
#[derive(Debug)]
pub(crate) struct PushHandler {
    waiters: Option<WaiterRegistry>,
    health: Arc<ConnectionState>,
}

impl PushHandler {
    pub(crate) fn new(waiters: Option<WaiterRegistry>, health: &Arc<ConnectionState>) -> Self {
        Self {
            waiters,
            health: Arc::clone(health),
        }
    }

    fn ends(&self) {
        let was_over = self.health.is_over.swap(true, Ordering::AcqRel);
        if !was_over
            && self.health.in_use.load(Ordering::Acquire)
            && let Some(waiters) = &self.waiters
        {
            waiters.interruption();
        }
    }
}

impl AsyncPushSender for PushHandler {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Disconnection {
            self.ends();
            return Ok(());
        }
        match &self.waiters {
            Some(waiters) => waiters.send(push),
            None => Ok(()),
        }
    }
}

impl Drop for PushHandler {
    fn drop(&mut self) {
        self.ends();
    }
}

/// Warns that the server does not allow the messages that notify waiters.
pub(crate) fn warn_of_no_wake_ups(error: &BackendError) {
    event!(
        warn,
        "leasehold.no_notifications",
        { error = error as &dyn std::error::Error },
        "pub/sub is not available, waiters poll; grant `+subscribe +publish`, in a Cluster `+ssubscribe +spublish`"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_used_connection_interrupts_waiters_once() {
        let end = || PushInfo {
            kind: PushKind::Disconnection,
            data: Vec::new(),
        };
        for (is_used, is_told, interruptions) in [
            (false, true, 0),
            (false, false, 0),
            (true, false, 1),
            (true, true, 1),
        ] {
            let (waiters, health) = (WaiterRegistry::new(), Arc::default());
            let push_handler = PushHandler::new(Some(waiters.clone()), &health);
            if is_used {
                health.used();
            }
            assert!(!health.is_over());
            if is_told {
                push_handler.send(end()).unwrap();
                assert!(health.is_over());
            }
            drop(push_handler);
            assert!(health.is_over());
            assert_eq!(waiters.interruptions(), interruptions);
        }
    }
}
