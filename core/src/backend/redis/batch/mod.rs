//! Requests about locks on one server that are made at the same time, and sent as one.
//!
//! A request that is alone is sent at once. While others are on their way, and where the lock was just passed on to
//! another task of this process, requests are gathered until the runtime has polled the tasks that were due before, and
//! then sent together: none waits for the answer to another, or for a timer. The server carries a batch out in one
//! step, as it would its requests one after the other: releases first, then attempts.

mod call;

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::runtime::Id;
use tokio::sync::oneshot;

use self::call::{Asked, Batch, Sent, Told};
use super::answer::{Acquired, Left};
use super::leave::Leave;
use super::node::Node;
use super::take::{Take, Terms};
use crate::backend::BackendError;
use crate::runtime::Runtime;

/// The batches of requests to one server.
#[derive(Debug, Default)]
pub(super) struct Batches {
    gathered: Arc<Gathered>,
    /// Whoever is on its way has one of it.
    under_way: UnderWay,
}

/// Held by a request, or by several, while it is on its way.
pub(super) type UnderWay = Arc<()>;

/// What is sent next.
#[derive(Debug, Default)]
struct Gathered {
    /// By the runtime that carries it: if nobody drives that one, those elsewhere must not wait for it.
    batches: Mutex<Vec<(Id, Batch)>>,
    /// The server does not take them together: it is one of a Cluster, and the URL did not say so.
    apart: AtomicBool,
}

impl Batches {
    /// Notes that a request is on its way, until the note is dropped.
    pub(super) fn sending(&self) -> UnderWay {
        Arc::clone(&self.under_way)
    }

    /// Whether others are on their way, or about to be.
    pub(super) fn is_busy(&self) -> bool {
        Arc::strong_count(&self.under_way) > 1
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
        if self.gathered.apart.load(Ordering::Relaxed) {
            return None;
        }
        let (answer, told) = oneshot::channel();
        if self.gathered.put(runtime.id(), |batch| put(batch, answer)) {
            let carrier = Carrier::new(&self.gathered, runtime.id(), self.sending());
            runtime.spawn(carrier.run(Arc::clone(node), terms));
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

impl Gathered {
    /// Adds a request to what is sent next; true if it is the first.
    fn put(&self, runtime: Id, put: impl FnOnce(&mut Batch)) -> bool {
        let mut batches = self.batches.lock();
        let of_runtime = batches.iter_mut().find(|(id, _)| *id == runtime);
        if let Some((_, batch)) = of_runtime {
            put(batch);
            return false;
        }
        let mut batch = Batch::default();
        put(&mut batch);
        batches.push((runtime, batch));
        true
    }

    fn take(&self, runtime: Id) -> Option<Batch> {
        let mut batches = self.batches.lock();
        let place = batches.iter().position(|(id, _)| *id == runtime)?;
        Some(batches.swap_remove(place).1)
    }
}

/// Takes away what was gathered, once those who were to be polled have been.
struct Carrier {
    gathered: Arc<Gathered>,
    runtime: Id,
    /// What is gathered from then on is another one's.
    has_taken: bool,
    _under_way: UnderWay,
}

impl Carrier {
    fn new(gathered: &Arc<Gathered>, runtime: Id, under_way: UnderWay) -> Self {
        Self {
            gathered: Arc::clone(gathered),
            runtime,
            has_taken: false,
            _under_way: under_way,
        }
    }

    fn take(&mut self) -> Option<Batch> {
        if mem::replace(&mut self.has_taken, true) {
            return None;
        }
        self.gathered.take(self.runtime)
    }

    async fn run(mut self, node: Arc<Node>, terms: Terms) {
        after_the_others().await;
        let Some(batch) = self.take() else {
            return;
        };
        // In order: who asked first is in line first.
        let calls = batch.into_calls().into_iter();
        let sent = join_all(calls.map(|call| call.send(&node, &terms))).await;
        if sent.contains(&Sent::Apart) {
            self.gathered.apart.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // There is something left if its runtime has ended before it could do anything.
        if let Some(batch) = self.take() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, OwnerId};

    #[tokio::test]
    async fn a_carrier_that_ends_leaves_to_the_next_what_was_gathered_since() {
        let (gathered, runtime) = (Arc::default(), Runtime::current().unwrap().id());
        let ask = |gathered: &Gathered| {
            let (answer, told) = oneshot::channel();
            let leave = Leave {
                key: Key::new("", "k").unwrap(),
                owner: OwnerId::random(),
                outstanding: 0,
                named: None,
            };
            let put = |batch: &mut Batch| batch.leaves.push(Asked::new(leave, answer));
            assert!(gathered.put(runtime, put), "the first of its batch");
            told
        };
        let _first = ask(&gathered);
        let mut carrier = Carrier::new(&gathered, runtime, UnderWay::default());
        assert!(carrier.take().is_some());
        let mut second = ask(&gathered);
        drop(carrier);
        assert!(second.try_recv().is_err(), "it is not sent away");
        drop(Carrier::new(&gathered, runtime, UnderWay::default()));
        assert!(
            matches!(second.try_recv(), Ok(None)),
            "nobody else will come"
        );
    }
}
