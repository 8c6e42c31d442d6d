use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Engine;
use super::call::bounded;
use super::release::ReleaseDebt;
use crate::runtime::timeout;
use crate::{LossReason, ShutdownError, observe};

impl Engine {
    /// Ends everything in this order: new acquires and waiters, guards, leases on the backend.
    pub(crate) async fn shut_down(self: &Arc<Self>) -> Result<(), ShutdownError> {
        self.close();
        let given_up = self.given_up.load(Ordering::Acquire);
        let leases = self.watched();
        for lease in &leases {
            // A lease that has ended already has told its reason.
            let _ended = lease.end(LossReason::Shutdown);
        }
        for lease in &leases {
            drop(ReleaseDebt::take(self, lease));
        }
        self.stop_watching();
        self.unfinished.close();
        let in_time = match timeout(self.limits.outage, self.unfinished.wait()) {
            Some(waiting) => waiting.await.is_ok(),
            None => self.unfinished.is_empty(),
        };
        let given_up = self.given_up.load(Ordering::Acquire) - given_up;
        let unconfirmed = self.unfinished.len() + given_up;
        let close = async {
            self.backend.close().await;
            Ok(())
        };
        if let Err(error) = bounded(self.limits.command, close).await {
            observe::close_failed(&error);
        }
        if in_time && given_up == 0 {
            Ok(())
        } else {
            Err(ShutdownError::new(unconfirmed))
        }
    }
}
