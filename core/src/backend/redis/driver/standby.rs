//! Drives where no caller does.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use super::wheel::{Look, Shared};
use crate::runtime::sleep;

/// The task of a connection's own. The connection ends with it.
pub(super) struct Standby {
    shared: Arc<Shared>,
    /// How long a caller that was woken has to come, at least; twice as long at most.
    patience: Duration,
    /// Set while callers are woken in its place, and a little longer.
    watch: Option<Pin<Box<Sleep>>>,
    last: Look,
}

impl Standby {
    pub(super) fn of(shared: &Arc<Shared>, patience: Duration) -> Self {
        Self {
            shared: Arc::clone(shared),
            patience,
            watch: None,
            last: Look::default(),
        }
    }

    pub(super) async fn run(mut self) {
        poll_fn(|context| self.poll(context)).await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(left) = self.shared.stand_by(context.waker()) else {
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
                self.watch = sleep(self.patience).map(Box::pin);
            }
            if let Some(watch) = &mut self.watch
                && watch.as_mut().poll(context).is_pending()
            {
                return Poll::Pending;
            }
            self.watch = None;
            self.shared.look_after_caller(&mut self.last);
        }
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.shared.close();
    }
}
