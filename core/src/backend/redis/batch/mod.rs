//! Requests about locks on one server that are made at the same time, and sent as one.
//!
//! A request that is alone is sent at once. While others are on their way, or where somebody of this process waits for
//! the same lock, requests are gathered until the runtime has polled the tasks that were due before, and then sent
//! together: none waits for the answer to another, or for a timer. The server carries a batch out in one step, as it
//! would its requests one after the other: releases first, then attempts. So nothing holds for a request alone that
//! does not hold for one in a batch.

mod call;

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use parking_lot::Mutex;
use tokio::runtime::Id;
use tokio::sync::oneshot;

use self::call::{Asked, Batch, Told};
use super::answer::{Acquired, Left};
use super::leave::Leave;
use super::node::Node;
use super::requests::{Take, Terms};
use crate::backend::BackendError;
use crate::runtime::Runtime;

/// The batches of requests to one server.
#[derive(Debug, Default)]
pub(super) struct Batches {
    gathered: Arc<Mutex<Gathered>>,
    under_way: Arc<AtomicUsize>,
}

/// What is sent next.
#[derive(Debug, Default)]
struct Gathered {
    /// Where the task is that sends it. If nobody drives that runtime, those elsewhere must not wait for it.
    runtime: Option<Id>,
    batch: Batch,
}

impl Batches {
    /// Notes that a request is on its way, until the note is dropped.
    pub(super) fn sending(&self) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(&self.under_way))
    }

    /// Whether others are on their way, or about to be.
    pub(super) fn is_busy(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }

    /// Releases or cleans up together with others; none if that is to be asked alone.
    pub(super) async fn leave(
        &self,
        node: &Arc<Node>,
        terms: Terms,
        leave: Leave,
    ) -> Option<Result<Left, BackendError>> {
        let put = |batch: &mut Batch, answer| batch.leaves.push(Asked::new(leave, answer));
        self.join(node, terms, put).await
    }

    /// Attempts together with others; none if that is to be asked alone.
    pub(super) async fn take(
        &self,
        node: &Arc<Node>,
        terms: Terms,
        take: Take,
    ) -> Option<Result<Acquired, BackendError>> {
        let put = |batch: &mut Batch, answer| batch.takes.push(Asked::new(take, answer));
        self.join(node, terms, put).await
    }

    async fn join<A>(
        &self,
        node: &Arc<Node>,
        terms: Terms,
        put: impl FnOnce(&mut Batch, oneshot::Sender<Told<A>>),
    ) -> Told<A> {
        let runtime = Runtime::current()?;
        let (answer, told) = oneshot::channel();
        let is_first = {
            let mut gathered = self.gathered.lock();
            let is_first = gathered.batch.is_empty();
            if !is_first && gathered.runtime != Some(runtime.id()) {
                return None;
            }
            gathered.runtime = Some(runtime.id());
            put(&mut gathered.batch, answer);
            is_first
        };
        if is_first {
            let carrier = Carrier {
                gathered: Arc::clone(&self.gathered),
                has_gone: false,
                under_way: self.sending(),
            };
            runtime.spawn(carrier.run(runtime.clone(), Arc::clone(node), terms));
        }
        let patience = Patience {
            node,
            is_over: false,
        };
        let told = told.await;
        patience.ends();
        told.unwrap_or_else(|_dropped| {
            let lost = "the runtime that carried the request ended before its answer came";
            Some(Err(BackendError::unknown(lost)))
        })
    }
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<AtomicUsize>);

impl Clone for UnderWay {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes away what was gathered, once those who were to be polled have been.
struct Carrier {
    gathered: Arc<Mutex<Gathered>>,
    has_gone: bool,
    under_way: UnderWay,
}

impl Carrier {
    async fn run(mut self, runtime: Runtime, node: Arc<Node>, terms: Terms) {
        after_the_others().await;
        self.has_gone = true;
        let mut rest = mem::take(&mut self.gathered.lock().batch);
        loop {
            let batch = rest.split_off_first();
            let sending = batch.send(Arc::clone(&node), terms.clone(), self.under_way.clone());
            if rest.is_empty() {
                return sending.await;
            }
            runtime.spawn(sending);
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // Its runtime has ended before it could do anything.
        if !self.has_gone {
            let batch = mem::take(&mut self.gathered.lock().batch);
            batch.dissolve();
        }
    }
}

/// Lets the runtime poll the tasks that are to be polled now.
async fn after_the_others() {
    let mut was_polled = false;
    poll_fn(|context| {
        if mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Who gives up waiting for an answer has the connection looked at.
struct Patience<'a> {
    node: &'a Node,
    is_over: bool,
}

impl Patience<'_> {
    fn ends(mut self) {
        self.is_over = true;
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.node.suspect();
        }
    }
}
