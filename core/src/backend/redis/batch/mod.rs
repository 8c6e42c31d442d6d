//! Requests about locks on one server that are made at the same time, and sent as one.
//!
//! A request is sent at once while few others are on their way and none is gathered. Beyond that, and where another task
//! of this process has waited longer for the lock, requests are gathered until the runtime has polled the tasks that were
//! due before, or until there are enough of them that the server need not wait for more, and then sent together: none
//! waits for the answer to another, or for a timer. The server carries a batch out in one step, as it would its requests
//! one after the other: releases first, then attempts.

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

use self::call::{Asked, Batch, LEAST, MOST, Sent, Told};
use super::answer::{Acquired, Left};
use super::leave::Leave;
use super::node::Node;
use super::take::{Take, Terms};
use crate::backend::BackendError;
use crate::runtime::Runtime;

/// How many are sent alone at the same time: so few keep a server busy, and it would wait for those who gather.
const ALONE: usize = 8;

/// A batch is sent as soon as it is so large a part of all that are on their way: while the server carries it out the
/// others are answered, and gather.
const PART: usize = 3;

/// The batches of requests to one server.
#[derive(Debug, Default)]
pub(super) struct Batches {
    gathered: Arc<Gathered>,
    /// Whoever is on its way has one of it.
    under_way: UnderWay,
}

/// Held by a request while it is on its way.
pub(super) type UnderWay = Arc<()>;

/// How soon a request should be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    /// As soon as that does not make others wait.
    Some,
    /// Together with all that are about to be made: its answer changes nothing yet.
    None,
}

/// What is sent next.
#[derive(Debug, Default)]
struct Gathered {
    /// By the runtime that carries it: if nobody drives that one, those elsewhere must not wait for it. In order, and all
    /// but the last need not wait for more.
    batches: Mutex<Vec<(Id, Vec<Batch>)>>,
    /// The server does not take them together: it is one of a Cluster, and the URL did not say so.
    apart: AtomicBool,
}

impl Batches {
    /// Notes that a request is on its way, until the note is dropped.
    pub(super) fn sending(&self) -> UnderWay {
        Arc::clone(&self.under_way)
    }

    /// Whether a request is sent together with others: many are on their way, or some about to be.
    pub(super) fn gather(&self, haste: Haste) -> bool {
        haste == Haste::None || self.under_way() >= ALONE || self.gathered.has_begun()
    }

    /// How many are sent without waiting for more.
    fn enough(&self, haste: Haste) -> usize {
        match haste {
            Haste::Some => (self.under_way() / PART).clamp(LEAST, MOST),
            Haste::None => MOST,
        }
    }

    fn under_way(&self) -> usize {
        Arc::strong_count(&self.under_way) - 1
    }

    /// Releases or cleans up together with others; none if that is to be asked alone.
    pub(super) async fn leave(
        &self,
        node: &Arc<Node>,
        terms: Terms,
        leave: Leave,
    ) -> Option<Result<Left, BackendError>> {
        let put = |batch: &mut Batch, answer| batch.leaves.push(Asked::new(leave, answer));
        self.join(node, terms, Haste::Some, put).await
    }

    /// Attempts together with others; none if that is to be asked alone.
    pub(super) async fn take(
        &self,
        node: &Arc<Node>,
        terms: Terms,
        haste: Haste,
        take: Take,
    ) -> Option<Result<Acquired, BackendError>> {
        let put = |batch: &mut Batch, answer| batch.takes.push(Asked::new(take, answer));
        self.join(node, terms, haste, put).await
    }

    async fn join<A>(
        &self,
        node: &Arc<Node>,
        terms: Terms,
        haste: Haste,
        put: impl FnOnce(&mut Batch, oneshot::Sender<Told<A>>),
    ) -> Told<A> {
        let runtime = Runtime::current()?;
        if self.gathered.apart.load(Ordering::Relaxed) {
            return None;
        }
        let (answer, told) = oneshot::channel();
        let _under_way = self.sending();
        let put = |batch: &mut Batch| put(batch, answer);
        if let Some(what) = self.gathered.put(runtime.id(), self.enough(haste), put) {
            let carrier = Carrier::new(&self.gathered, runtime.id(), what);
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
    fn has_begun(&self) -> bool {
        !self.batches.lock().is_empty()
    }

    /// Adds a request to what is sent next, and says what has to be carried: none, if somebody will carry it.
    fn put(&self, runtime: Id, enough: usize, put: impl FnOnce(&mut Batch)) -> Option<What> {
        let mut gathered = self.batches.lock();
        let of_runtime = gathered.iter_mut().find(|(id, _)| *id == runtime);
        if let Some((_, batches)) = of_runtime
            && let Some(batch) = batches.last_mut()
        {
            put(batch);
            if batch.len() < enough {
                return None;
            }
            batches.push(Batch::default());
            return Some(What::Large);
        }
        let mut batch = Batch::default();
        put(&mut batch);
        gathered.push((runtime, vec![batch]));
        Some(What::All)
    }

    fn take(&self, runtime: Id, what: What) -> Vec<Batch> {
        let mut gathered = self.batches.lock();
        let place = gathered.iter().position(|(id, _)| *id == runtime);
        match (place, what) {
            (Some(place), What::All) => gathered.swap_remove(place).1,
            (Some(place), What::Large) => {
                let (_, batches) = &mut gathered[place];
                let large = batches.len().saturating_sub(1);
                batches.drain(..large).collect()
            }
            (None, _) => Vec::new(),
        }
    }
}

/// What is carried.
#[derive(Debug, Clone, Copy)]
enum What {
    /// Whatever is there once those who were to be polled have been.
    All,
    /// What need not wait for them: batches that are large enough.
    Large,
}

/// Takes requests to the server.
struct Carrier {
    gathered: Arc<Gathered>,
    runtime: Id,
    /// None once it is taken: what is gathered from then on is another one's.
    what: Option<What>,
}

impl Carrier {
    fn new(gathered: &Arc<Gathered>, runtime: Id, what: What) -> Self {
        Self {
            gathered: Arc::clone(gathered),
            runtime,
            what: Some(what),
        }
    }

    fn take(&mut self) -> Vec<Batch> {
        let what = self.what.take();
        what.map_or_else(Vec::new, |what| self.gathered.take(self.runtime, what))
    }

    async fn run(mut self, node: Arc<Node>, terms: Terms) {
        if matches!(self.what, Some(What::All)) {
            after_the_others().await;
        }
        // In order: who asked first is in line first.
        let calls = self.take().into_iter();
        let sent = join_all(calls.map(|call| call.send(&node, &terms))).await;
        if sent.contains(&Sent::Apart) {
            self.gathered.apart.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // There is something left if its runtime has ended before it could do anything.
        for batch in self.take() {
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
            let what = gathered.put(runtime, MOST, put);
            assert!(matches!(what, Some(What::All)), "the first of its batch");
            told
        };
        let _first = ask(&gathered);
        let mut carrier = Carrier::new(&gathered, runtime, What::All);
        assert_eq!(carrier.take().len(), 1);
        let mut second = ask(&gathered);
        drop(carrier);
        assert!(second.try_recv().is_err(), "it is not sent away");
        drop(Carrier::new(&gathered, runtime, What::All));
        assert!(
            matches!(second.try_recv(), Ok(None)),
            "nobody else will come"
        );
    }
}
