//! A future that is polled only when it was woken, and whose statements on other threads complete in a fixed order.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

use super::work_on_other_threads::OutsideWork;

/// A future with its own waker.
///
/// A statement on another thread may answer in one or in several steps, depending on the speed of the threads. All steps
/// count as one poll, so that each run has the same number of polls.
pub(super) struct Settled<F> {
    inner: Pin<Box<F>>,
    wakeup: Arc<Wakeup>,
}

impl<F: Future> Settled<F> {
    pub(super) fn new(inner: F, outside: &Arc<OutsideWork>) -> Self {
        let wakeup = Wakeup {
            here: AtomicBool::new(true),
            elsewhere: AtomicBool::new(false),
            parent: Mutex::new(Waker::noop().clone()),
            outside: Arc::clone(outside),
        };
        Self {
            inner: Box::pin(inner),
            wakeup: Arc::new(wakeup),
        }
    }

    /// Returns whether the next poll polls the inner future. The next wakeup wakes `context`.
    pub(super) fn is_woken(&self, context: &Context<'_>) -> bool {
        self.wakeup.parent.lock().clone_from(context.waker());
        self.wakeup.is_set()
    }
}

impl<F: Future> Future for Settled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if !self.is_woken(context) {
            return Poll::Pending;
        }
        let wakeup = Arc::clone(&self.wakeup);
        let (outside, waker) = (&wakeup.outside, Waker::from(Arc::clone(&wakeup)));
        loop {
            wakeup.clear();
            outside.polled();
            let sent_before = outside.sent();
            let polled = self.inner.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_ready() {
                return polled;
            }
            if outside.sent() != sent_before || wakeup.here.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            outside.finish();
            if !wakeup.is_set() {
                return Poll::Pending;
            }
        }
    }
}

/// Whether the future was woken by this thread or by another thread, and the task to wake.
struct Wakeup {
    here: AtomicBool,
    elsewhere: AtomicBool,
    parent: Mutex<Waker>,
    outside: Arc<OutsideWork>,
}

impl Wakeup {
    fn is_set(&self) -> bool {
        self.here.load(Ordering::Acquire) || self.elsewhere.load(Ordering::Acquire)
    }

    fn clear(&self) {
        self.here.store(false, Ordering::Release);
        self.elsewhere.store(false, Ordering::Release);
    }
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        let wake = |flag: &AtomicBool| {
            flag.store(true, Ordering::Release);
            let parent = self.parent.lock().clone();
            parent.wake();
        };
        if self.outside.is_runtime_thread() {
            wake(&self.here);
        } else {
            self.outside.deliver(|| wake(&self.elsewhere));
        }
    }
}
