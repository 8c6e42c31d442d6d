//! Shuts a manager down: refuses new acquires, and releases held locks.

use std::sync::Arc;

use super::Engine;
use super::backend_call_timeout::bounded;
use super::release::PendingRelease;
use crate::runtime::timeout;
use crate::{EndReason, ShutdownError, events};

impl Engine {
    /// Ends everything in this order: new acquires and waiters, guards, leases on the backend.
    pub(crate) async fn shut_down(self: &Arc<Self>) -> Result<(), ShutdownError> {
        self.close();
        let leases = self.watched();
        for lease in &leases {
            // A lease that has already ended has reported its reason.
            let _ended = lease.end(EndReason::Shutdown);
        }
        // A campaign drops its body when the lease ends, and releases the lock afterwards.
        for lease in leases.iter().filter(|it| !it.is_left_to_holder()) {
            drop(PendingRelease::take(self, lease));
        }
        self.stop_watching();
        self.unfinished.close();
        // Give each release at least the time of one command, even if the backend retry timeout is shorter.
        let limit = self.limits.outage.max(self.limits.command);
        let done = async {
            tokio::select! {
                // In order, so that a run with paused time can be repeated exactly.
                biased;
                () = self.unfinished.wait() => {}
                never = self.backlog.keep_adopting() => match never {},
            }
        };
        if let Some(waiting) = timeout(limit, done) {
            // Unconfirmed work is counted below.
            let _in_time = waiting.await;
        }
        // Read `unfinished` first: work that is abandoned between the two readings is then counted twice, never missed.
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
