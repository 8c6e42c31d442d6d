//! Shuts a manager down: no new acquires, held locks released.

use std::sync::Arc;

use super::Engine;
use super::release::PendingRelease;
use super::timeout::bounded;
use crate::runtime::timeout;
use crate::{LossReason, ShutdownError, events};

impl Engine {
    /// Ends everything in this order: new acquires and waiters, guards, leases on the backend.
    pub(crate) async fn shut_down(self: &Arc<Self>) -> Result<(), ShutdownError> {
        self.close();
        let leases = self.watched();
        for lease in &leases {
            // A lease that has ended already has told its reason.
            let _ended = lease.end(LossReason::Shutdown);
        }
        for lease in &leases {
            drop(PendingRelease::take(self, lease));
        }
        self.stop_watching();
        self.unfinished.close();
        // However soon an acquire gives up, a release that does not fail has the time of one command.
        let limit = self.limits.outage.max(self.limits.command);
        let done = async {
            tokio::select! {
                () = self.unfinished.wait() => {}
                never = self.backlog.keep_adopting() => match never {},
            }
        };
        if let Some(waiting) = timeout(limit, done) {
            // What is late is counted.
            let _in_time = waiting.await;
        }
        // In this order: what is given up in between is counted twice rather than never.
        let unfinished = self.unfinished.len();
        let unconfirmed = unfinished + self.given_up();
        let close = async {
            self.backend().close().await;
            Ok(())
        };
        if let Err(error) = bounded(self.limits.command, close).await {
            events::close_failed(&error);
        }
        if unconfirmed == 0 {
            Ok(())
        } else {
            Err(ShutdownError::new(unconfirmed))
        }
    }
}
