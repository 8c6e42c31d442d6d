//! Drives a connection while no caller is waiting on it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use super::drive_state::{ReaderSnapshot, SharedDriveState};
use leasehold_core::backend::support::runtime::sleep;

/// The connection's own task. When this task ends, the connection ends, too.
pub(super) struct FallbackDriver {
    shared: Arc<SharedDriveState>,
    /// The shortest time within which a woken caller must poll. The longest time is twice this time.
    fallback_after: Duration,
    /// The timer of the next check. The timer is set while the connection wakes callers instead of the fallback driver,
    /// and until the check after that.
    watch: Option<Pin<Box<Sleep>>>,
    last: ReaderSnapshot,
}

impl FallbackDriver {
    pub(super) fn of(shared: &Arc<SharedDriveState>, fallback_after: Duration) -> Self {
        Self {
            shared: Arc::clone(shared),
            fallback_after,
            watch: None,
            last: ReaderSnapshot::default(),
        }
    }

    pub(super) async fn run(mut self) {
        poll_fn(|context| self.poll(context)).await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(left) = self.shared.register_fallback(context.waker()) else {
                return Poll::Ready(());
            };
            if left.to_drive
                && let Some(mut turn) = self.shared.begin()
            {
                turn.drive();
            }
            if !left.to_watch {
                self.watch = None;
                return Poll::Pending;
            }
            if self.watch.is_none() {
                self.watch = sleep(self.fallback_after).map(Box::pin);
            }
            if let Some(watch) = &mut self.watch
                && watch.as_mut().poll(context).is_pending()
            {
                return Poll::Pending;
            }
            self.watch = None;
            self.shared.check_waiter(&mut self.last);
        }
    }
}

impl Drop for FallbackDriver {
    fn drop(&mut self) {
        self.shared.close();
    }
}
