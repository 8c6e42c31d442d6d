//! Batches of concurrent requests about locks on one server.
//!
//! The client sends a request immediately if few other requests are unanswered and the client has gathered no request.
//! Otherwise the client gathers the request. The client also gathers a request if another task of this process has
//! waited longer for the lock. The client sends gathered requests together when the runtime has polled the tasks that
//! were due. The client sends them earlier if they are a large part of all unanswered requests, because the server
//! could become idle otherwise. No request waits for the reply to another, or for a timer. The server executes a batch
//! in one step, with the effect of single requests: releases first, then attempts.

mod request_batch;

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
use crate::protocol::acquire_command::{AcquireCommand, ClientContext};
use crate::protocol::release_command::ReleaseCommand;
use crate::protocol::reply::{AcquireReply, ReleaseReply};
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::runtime::Runtime;
use request_batch::{Batch, BatchItem, ItemReply, LEAST, MOST, SendOutcome};

/// The number of concurrent requests that the client sends alone. These requests give the server work while the client
/// gathers others.
const ALONE: usize = 8;

/// The client sends a batch as soon as the batch contains `1 / PART` of all unanswered requests. While the server
/// executes that batch, other tasks receive replies and make their next requests.
const PART: usize = 2;

/// The batches of requests to one server.
#[derive(Debug, Default)]
pub(super) struct Batcher {
    pending: Arc<PendingBatches>,
    /// Each request in flight owns a clone of this value.
    under_way: InFlightMark,
}

/// Counts as one request in flight while this value exists.
pub(super) type InFlightMark = Arc<()>;

/// How soon the client should send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    /// The client sends the request immediately. If many requests are in flight, the client gathers the request for a
    /// short time.
    Some,
    /// The client sends the request together with all requests that due tasks make, because the caller does not need an
    /// early reply.
    None,
}

/// The requests to send next.
#[derive(Debug, Default)]
struct PendingBatches {
    /// The batches of each runtime. If a runtime is not driven, requests of other runtimes must not wait for that
    /// runtime. The batches of a runtime are in order, and only the last batch can receive more requests.
    batches: Mutex<Vec<(Id, Vec<Batch>)>>,
    /// Whether the server refuses batches. A server of a Cluster refuses batches if the URL names it as a single
    /// server.
    is_disabled: AtomicBool,
}

impl Batcher {
    /// Counts a request as in flight until the returned value is dropped.
    pub(super) fn sending(&self) -> InFlightMark {
        Arc::clone(&self.under_way)
    }

    /// Returns whether to batch a request. Returns true without urgency, if many requests are in flight, or if the
    /// client has gathered requests.
    pub(super) fn gather(&self, urgency: Urgency) -> bool {
        urgency == Urgency::None || self.under_way() >= ALONE || self.pending.has_begun()
    }

    /// Returns how many gathered requests the client sends without waiting for more.
    fn enough(&self, urgency: Urgency) -> usize {
        match urgency {
            Urgency::Some => (self.under_way() / PART).clamp(LEAST, MOST),
            Urgency::None => MOST,
        }
    }

    fn under_way(&self) -> usize {
        Arc::strong_count(&self.under_way) - 1
    }

    /// Releases or cleans up in a batch. Resolves to `None` if the caller must send the request alone.
    pub(super) fn release(
        &self,
        node: &Arc<ServerClient>,
        context: ClientContext,
        release: ReleaseCommand,
    ) -> impl Future<Output = Option<Result<ReleaseReply, BackendError>>> {
        let put = |batch: &mut Batch, answer| batch.releases.push(BatchItem::new(release, answer));
        reply(node, self.join(node, context, Urgency::Some, put))
    }

    /// Acquires in a batch. Resolves to `None` if the caller must send the request alone.
    pub(super) fn take(
        &self,
        node: &Arc<ServerClient>,
        context: ClientContext,
        urgency: Urgency,
        take: AcquireCommand,
    ) -> impl Future<Output = Option<Result<AcquireReply, BackendError>>> {
        let put = |batch: &mut Batch, answer| batch.takes.push(BatchItem::new(take, answer));
        reply(node, self.join(node, context, urgency, put))
    }

    /// Adds a request to the pending ones. The future of a caller contains only the receiver of the reply, so it is
    /// small.
    fn join<A>(
        &self,
        node: &Arc<ServerClient>,
        context: ClientContext,
        urgency: Urgency,
        put: impl FnOnce(&mut Batch, oneshot::Sender<ItemReply<A>>),
    ) -> Option<(oneshot::Receiver<ItemReply<A>>, InFlightMark)> {
        let runtime = Runtime::current()?;
        if self.pending.is_disabled.load(Ordering::Relaxed) {
            return None;
        }
        let (answer, reply) = oneshot::channel();
        let under_way = self.sending();
        let put = |batch: &mut Batch| put(batch, answer);
        if let Some(what) = self.pending.put(runtime.id(), self.enough(urgency), put) {
            let sender = BatchSender::new(&self.pending, runtime.id(), what);
            runtime.spawn(sender.run(Arc::clone(node), context));
        }
        Some((reply, under_way))
    }
}

/// Waits for the reply to a request in a batch.
async fn reply<A>(
    node: &Arc<ServerClient>,
    joined: Option<(oneshot::Receiver<ItemReply<A>>, InFlightMark)>,
) -> ItemReply<A> {
    let (reply, _under_way) = joined?;
    // If the caller stops waiting, the client probes the connection.
    let probe = guard(node, |node| node.suspect());
    let reply = reply.await;
    ScopeGuard::into_inner(probe);
    reply.unwrap_or_else(|_dropped| {
        let lost = "the runtime that sent the request ended before the reply";
        Some(Err(BackendError::unknown(lost)))
    })
}

impl PendingBatches {
    fn has_begun(&self) -> bool {
        !self.batches.lock().is_empty()
    }

    /// Adds a request. Returns the batches that the caller must flush, or `None` if another task flushes the request.
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

/// The batches that a flush sends.
#[derive(Debug, Clone, Copy)]
enum FlushKind {
    /// Flushes all batches that exist after the due tasks were polled.
    All,
    /// Flushes only batches that are large enough.
    Large,
}

/// Sends batches to the server.
struct BatchSender {
    pending: Arc<PendingBatches>,
    runtime: Id,
    /// `None` once this sender has taken the batches. Another sender sends the requests that the client gathers later.
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

    async fn run(mut self, node: Arc<ServerClient>, context: ClientContext) {
        if matches!(self.what, Some(FlushKind::All)) {
            after_the_others().await;
        }
        // The calls keep the order of the batches, so that earlier requests queue first.
        let calls = self.take().into_iter();
        let sent = join_all(calls.map(|call| call.send(&node, &context))).await;
        if sent.contains(&SendOutcome::Apart) {
            self.pending.is_disabled.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        // If the runtime ends first, the callers of unsent batches must still get a reply.
        for batch in self.take() {
            batch.reject_all();
        }
    }
}

/// Yields, so that the runtime polls the tasks that are due.
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
    use leasehold_core::{AttemptId, Key};

    #[tokio::test]
    async fn dropping_a_used_batch_sender_leaves_newer_requests_to_the_next() {
        let (pending, runtime) = (Arc::default(), Runtime::current().unwrap().id());
        let ask = |pending: &PendingBatches| {
            let (answer, reply) = oneshot::channel();
            let release = ReleaseCommand {
                key: Key::new("", "k").unwrap(),
                owner: AttemptId::random(),
                latest_expiry: 0,
                named: None,
            };
            let put = |batch: &mut Batch| batch.releases.push(BatchItem::new(release, answer));
            let what = pending.put(runtime, MOST, put);
            assert!(
                matches!(what, Some(FlushKind::All)),
                "the first of its batch"
            );
            reply
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
            "no other request will come"
        );
    }
}
