use std::fmt;
use std::future::{self, Future};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use leasehold_core::kind::{Kind, Releasable};
use leasehold_core::{EndReason, Ended, LockGuard, LockHandle};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::BodyCut;
use crate::release_guard::give_back;
use crate::{OnLoss, events};

/// A guard of any kind.
trait Kept: Send {
    fn give_back(self: Box<Self>) -> Pin<Box<dyn Future<Output = Option<EndReason>> + Send>>;
}

impl<T: Releasable> Kept for LockGuard<T> {
    fn give_back(self: Box<Self>) -> Pin<Box<dyn Future<Output = Option<EndReason>> + Send>> {
        Box::pin(give_back(*self))
    }
}

/// A handle of any kind.
trait Holding: Send {
    /// Runs one step in the scope of the holder.
    fn step(&self, cx: &mut Context<'_>, step: &mut dyn FnMut(&mut Context<'_>));
}

impl<T: Kind> Holding for LockHandle<T> {
    fn step(&self, cx: &mut Context<'_>, step: &mut dyn FnMut(&mut Context<'_>)) {
        let once = future::poll_fn(|cx| {
            step(cx);
            Poll::Ready(())
        });
        let _ready = pin!(self.scope(once)).poll(cx);
    }
}

type Shared = Arc<Mutex<Option<Box<dyn Kept>>>>;
pub(super) type Releasing = Pin<Box<dyn Future<Output = Option<BodyCut>> + Send>>;

/// Holds a lock for a response body. A server does not poll the body while its client reads slowly. So a separate task
/// drops the guard when the time limit is reached or the lock is lost. A lost lease stays at the backend until its
/// guard is dropped.
pub(crate) struct Custody {
    guard: Shared,
    holding: Box<dyn Holding>,
    key: Box<str>,
    lost: Pin<Box<dyn Future<Output = Ended> + Send>>,
    timer: AbortHandle,
    most: Duration,
    on_loss: OnLoss,
}

/// Determines what happens to a body after the end of the lease.
pub(super) enum Fate {
    /// The body continues without the lock.
    GoOn,
    Cut(BodyCut),
}

impl Custody {
    pub(crate) fn new<T: Releasable>(guard: LockGuard<T>, most: Duration, on_loss: OnLoss) -> Self {
        let (key, lost) = (guard.key().into(), Box::pin(guard.ended()));
        let ended = guard.ended();
        let holding = Box::new(guard.handle());
        let guard: Shared = Arc::new(Mutex::new(Some(Box::new(guard))));
        let kept = Arc::clone(&guard);
        let timer = tokio::spawn(async move {
            let _lost = tokio::time::timeout(most, ended).await;
            let guard = kept.lock().take();
            drop(guard);
        });
        Self {
            guard,
            holding,
            lost,
            key,
            timer: timer.abort_handle(),
            most,
            on_loss,
        }
    }

    /// Polls in the scope of the holder, so that a nested acquire of the same lock fails immediately.
    pub(super) fn poll_within<R>(
        &self,
        cx: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
    ) -> Poll<R> {
        let mut polled = Poll::Pending;
        self.holding.step(cx, &mut |cx| polled = poll(cx));
        polled
    }

    /// Becomes ready if the lease ends before the body.
    pub(super) fn poll_lost(&mut self, cx: &mut Context<'_>) -> Poll<Fate> {
        let Poll::Ready(lost) = self.lost.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        Poll::Ready(self.fate(lost.reason))
    }

    fn fate(&self, reason: EndReason) -> Fate {
        // Until the body ends, only the timer releases the lock.
        let late = reason == EndReason::Released;
        match self.on_loss {
            OnLoss::Continue if late => {
                events::body_outlived(&self.key);
                Fate::GoOn
            }
            OnLoss::Continue => {
                events::went_on_without(&self.key, reason);
                Fate::GoOn
            }
            OnLoss::Cancel if late => Fate::Cut(BodyCut::TooLong { after: self.most }),
            OnLoss::Cancel => Fate::Cut(BodyCut::Lost { reason }),
        }
    }

    /// Releases the lock. When the future completes, the next request can acquire the lock. If the lease ended before
    /// the last frame of the body, the future returns the error for the body, if there is one.
    pub(super) fn release(mut self) -> Releasing {
        let guard = self.guard.lock().take();
        Box::pin(async move {
            let reason = match guard {
                Some(guard) => guard.give_back().await?,
                // The timer has released the lock.
                None => self.lost.as_mut().await.reason,
            };
            match self.fate(reason) {
                Fate::Cut(cut) => Some(cut),
                Fate::GoOn => None,
            }
        })
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        self.timer.abort();
        let guard = self.guard.lock().take();
        drop(guard);
    }
}

impl fmt::Debug for Custody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custody")
            .field("key", &self.key)
            .field("most", &self.most)
            .field("on_loss", &self.on_loss)
            .finish_non_exhaustive()
    }
}
