//! Requests about locks on one server that are made at the same time, and sent as one.
//!
//! A request is sent at once while few others are on their way and none is gathered. Beyond that, and where another task
//! of this process has waited longer for the lock, requests are gathered until the runtime has polled the tasks that were
//! due before, or until there are enough of them that the server need not wait for more, and then sent together: none
//! waits for the answer to another, or for a timer. The server carries a batch out in one step, as it would its requests
//! one after the other: releases first, then attempts.

mod script_call;

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::future::join_all;
use parking_lot::Mutex;
use scopeguard::{ScopeGuard, guard};
use tokio::runtime::Id;
use tokio::sync::oneshot;

use super::client::ServerClient;
use crate::backend::BackendError;
use crate::backend::redis::protocol::acquire_command::{AcquireCommand, ClientContext};
use crate::backend::redis::protocol::release_command::ReleaseCommand;
use crate::backend::redis::protocol::reply::{AcquireReply, ReleaseReply};
use crate::runtime::Runtime;
use script_call::{Batch, BatchItem, ItemReply, LEAST, MOST, SendOutcome};

/// How many are sent alone at the same time: so few keep a server busy, and it would wait for those who gather.
const ALONE: usize = 8;

/// A batch is sent as soon as it is so large a part of all that are on their way: while the server carries it out the
/// others are answered, and gather.
const PART: usize = 3;

/// The batches of requests to one server.
#[derive(Debug, Default)]
pub(super) struct Batcher {
    pending: Arc<PendingBatches>,
    /// Whoever is on its way has one of it.
    under_way: InFlightMark,
}

/// Held by a request while it is on its way.
pub(super) type InFlightMark = Arc<()>;

/// How soon a request should be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// As soon as that does not make others wait.
    Some,
    /// Together with all that are about to be made: its answer changes nothing yet.
    None,
}

/// What is sent next.
#[derive(Debug, Default)]
struct PendingBatches {
    /// By the runtime that carries it: if nobody drives that one, those elsewhere must not wait for it. In order, and all
    /// but the last need not wait for more.
    batches: Mutex<Vec<(Id, Vec<Batch>)>>,
    /// The server does not take them together: it is one of a Cluster, and the URL did not say so.
    is_disabled: AtomicBool,
}

impl Batcher {
    /// Notes that a request is on its way, until the note is dropped.
    pub(super) fn sending(&self) -> InFlightMark {
        Arc::clone(&self.under_way)
    }

    /// Whether a request is sent together with others: many are on their way, or some about to be.
    pub(super) fn gather(&self, urgency: Urgency) -> bool {
        urgency == Urgency::None || self.under_way() >= ALONE || self.pending.has_begun()
    }

    /// How many are sent without waiting for more.
    fn enough(&self, urgency: Urgency) -> usize {
        match urgency {
            Urgency::Some => (self.under_way() / PART).clamp(LEAST, MOST),
            Urgency::None => MOST,
        }
    }

    fn under_way(&self) -> usize {
        Arc::strong_count(&self.under_way) - 1
    }

    /// Releases or cleans up together with others; none if that is to be asked alone.
    pub(super) async fn leave(
        &self,
        node: &Arc<ServerClient>,
        terms: ClientContext,
        leave: ReleaseCommand,
    ) -> Option<Result<ReleaseReply, BackendError>> {
        let put = |batch: &mut Batch, answer| batch.leaves.push(BatchItem::new(leave, answer));
        self.join(node, terms, Urgency::Some, put).await
    }

    /// Attempts together with others; none if that is to be asked alone.
    pub(super) async fn take(
        &self,
        node: &Arc<ServerClient>,
        terms: ClientContext,
        urgency: Urgency,
        take: AcquireCommand,
    ) -> Option<Result<AcquireReply, BackendError>> {
        let put = |batch: &mut Batch, answer| batch.takes.push(BatchItem::new(take, answer));
        self.join(node, terms, urgency, put).await
    }

    async fn join<A>(
        &self,
        node: &Arc<ServerClient>,
        terms: ClientContext,
        urgency: Urgency,
        put: impl FnOnce(&mut Batch, oneshot::Sender<ItemReply<A>>),
    ) -> ItemReply<A> {
        let runtime = Runtime::current()?;
        if self.pending.is_disabled.load(Ordering::Relaxed) {
            return None;
        }
        let (answer, told) = oneshot::channel();
        let _under_way = self.sending();
        let put = |batch: &mut Batch| put(batch, answer);
        if let Some(what) = self.pending.put(runtime.id(), self.enough(urgency), put) {
            let sender = BatchSender::new(&self.pending, runtime.id(), what);
            runtime.spawn(sender.run(Arc::clone(node), terms));
        }
        // A caller that gives up has the connection checked.
        let probe = guard(node, |node| node.suspect());
        let told = told.await;
        ScopeGuard::into_inner(probe);
        told.unwrap_or_else(|_dropped| {
            let lost = "the runtime that carried the request ended before its answer came";
            Some(Err(BackendError::unknown(lost)))
        })
    }
}

impl PendingBatches {
    fn has_begun(&self) -> bool {
        !self.batches.lock().is_empty()
    }

    /// Adds a request to what is sent next, and says what has to be carried: none, if somebody will carry it.
    fn put(&self, runtime: Id, enough: usize, put: impl FnOnce(&mut Batch)) -> Option<FlushKind> {
        let mut pending = self.batches.lock();
        let of_runtime = pending.iter_mut().find(|(id, _)| *id == runtime);
        if let Some((_, batches)) = of_runtime
            && let Some(batch) = batches.last_mut()
        {
            put(batch);
            if batch.len() < enough {
                return None;
            }
            batches.push(Batch::default());
            return Some(FlushKind::Large);
        }
        let mut batch = Batch::default();
        put(&mut batch);
        pending.push((runtime, vec![batch]));
        Some(FlushKind::All)
    }

    fn take(&self, runtime: Id, what: FlushKind) -> Vec<Batch> {
        let mut pending = self.batches.lock();
        let place = pending.iter().position(|(id, _)| *id == runtime);
        match (place, what) {
            (Some(place), FlushKind::All) => pending.swap_remove(place).1,
            (Some(place), FlushKind::Large) => {
                let (_, batches) = &mut pending[place];
                let large = batches.len().saturating_sub(1);
                batches.drain(..large).collect()
            }
            (None, _) => Vec::new(),
        }
    }
}

/// What is carried.
#[derive(Debug, Clone, Copy)]
enum FlushKind {
    /// Whatever is there once those who were to be polled have been.
    All,
    /// What need not wait for them: batches that are large enough.
    Large,
}

/// Takes requests to the server.
struct BatchSender {
    pending: Arc<PendingBatches>,
    runtime: Id,
    /// None once it is taken: what is gathered from then on is another one's.
    what: Option<FlushKind>,
}

impl BatchSender {
    fn new(pending: &Arc<PendingBatches>, runtime: Id, what: FlushKind) -> Self {
        Self {
            pending: Arc::clone(pending),
            runtime,
            what: Some(what),
        }
    }

    fn take(&mut self) -> Vec<Batch> {
        let what = self.what.take();
        what.map_or_else(Vec::new, |what| self.pending.take(self.runtime, what))
    }

    async fn run(mut self, node: Arc<ServerClient>, terms: ClientContext) {
        if matches!(self.what, Some(FlushKind::All)) {
            after_the_others().await;
        }
        // In order: who asked first is in line first.
        let calls = self.take().into_iter();
        let sent = join_all(calls.map(|call| call.send(&node, &terms))).await;
        if sent.contains(&SendOutcome::Apart) {
            self.pending.is_disabled.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        // There is something left if its runtime has ended before it could do anything.
        for batch in self.take() {
            batch.reject_all();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, OwnerId};

    #[tokio::test]
    async fn a_carrier_that_ends_leaves_to_the_next_what_was_gathered_since() {
        let (pending, runtime) = (Arc::default(), Runtime::current().unwrap().id());
        let ask = |pending: &PendingBatches| {
            let (answer, told) = oneshot::channel();
            let leave = ReleaseCommand {
                key: Key::new("", "k").unwrap(),
                owner: OwnerId::random(),
                latest_expiry: 0,
                named: None,
            };
            let put = |batch: &mut Batch| batch.leaves.push(BatchItem::new(leave, answer));
            let what = pending.put(runtime, MOST, put);
            assert!(
                matches!(what, Some(FlushKind::All)),
                "the first of its batch"
            );
            told
        };
        let _first = ask(&pending);
        let mut sender = BatchSender::new(&pending, runtime, FlushKind::All);
        assert_eq!(sender.take().len(), 1);
        let mut second = ask(&pending);
        drop(sender);
        assert!(second.try_recv().is_err(), "it is not sent away");
        drop(BatchSender::new(&pending, runtime, FlushKind::All));
        assert!(
            matches!(second.try_recv(), Ok(None)),
            "nobody else will come"
        );
    }
}
