//! Hears what a server says unasked, and that a connection is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::{AsyncPushSender, SendError};
use redis::{PushInfo, PushKind};

use super::inbox::Inbox;

/// How it is with a connection.
#[derive(Debug, Default)]
pub(super) struct Health {
    in_use: AtomicBool,
    is_over: AtomicBool,
}

impl Health {
    /// From here on those who wait are told of its end. Before, it is only tried.
    pub(super) fn used(&self) {
        self.in_use.store(true, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// A connection has it for as long as it is carried. It is dropped without a word when the runtime that did so ends.
#[derive(Debug)]
pub(super) struct Ear {
    inbox: Inbox,
    health: Arc<Health>,
}

impl Ear {
    pub(super) fn new(inbox: Inbox, health: &Arc<Health>) -> Self {
        Self {
            inbox,
            health: Arc::clone(health),
        }
    }

    fn ends(&self) {
        let was_over = self.health.is_over.swap(true, Ordering::AcqRel);
        if !was_over && self.health.in_use.load(Ordering::Acquire) {
            self.inbox.interruption();
        }
    }
}

impl AsyncPushSender for Ear {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        if push.kind == PushKind::Disconnection {
            self.ends();
            return Ok(());
        }
        self.inbox.send(push)
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.ends();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_once_and_those_who_wait_are_told_if_they_used_it() {
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
            let (inbox, health) = (Inbox::new(), Arc::default());
            let ear = Ear::new(inbox.clone(), &health);
            if is_used {
                health.used();
            }
            assert!(!health.is_over());
            if is_told {
                ear.send(end()).unwrap();
                assert!(health.is_over());
            }
            drop(ear);
            assert!(health.is_over());
            assert_eq!(inbox.interruptions(), interruptions);
        }
    }
}
