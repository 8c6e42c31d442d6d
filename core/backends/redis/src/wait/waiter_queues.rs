//! The waiters of a client as data: applies an event to the queue of its key, and collects the waiters to wake.

use std::collections::hash_map::{Entry, HashMap};
use std::mem;
use std::sync::Arc;

use super::WakeUps;
use super::local_queue::{Effects, Event, LocalQueue, Wake};
use crate::protocol::unanswered_requests::UnansweredRequests;
use leasehold_core::Key;
use leasehold_core::backend::support::AttemptMap;
use leasehold_core::backend::support::clock::LeaseInstant;

/// The smallest number of queues and waiters at which the client removes unused entries.
pub(super) const MANY: usize = 128;

/// The queues of all keys, and the waiters in them.
#[derive(Debug, Default)]
pub(super) struct RegisteredWaiters {
    pub(super) queues: HashMap<Key, LocalQueue>,
    pub(super) waiters: AttemptMap<RegisteredWaiter>,
    /// The waiters to wake after unlocking the mutex.
    pub(super) woken: Vec<(Arc<WakeUps>, Wake)>,
    /// The number of queues and waiters at which the client removes unused entries.
    many: usize,
}

#[derive(Debug, Default)]
pub(super) struct RegisteredWaiter {
    pub(super) wake_ups: Arc<WakeUps>,
    /// The requests of its attempt. `None` for Redlock, which does not have local hand-offs.
    pub(super) unanswered: Option<Arc<UnansweredRequests>>,
}

impl RegisteredWaiters {
    pub(super) fn apply(&mut self, key: &Key, event: Event) -> Effects {
        let now = LeaseInstant::now();
        // There may be many waiters, so this does not run for each event.
        if self.len() >= self.many {
            self.apply_to_all(Event::ForgetAbandoned);
            self.many = MANY.max(self.len() * 2);
        }
        let effects = match self.queues.entry(key.clone()) {
            Entry::Occupied(mut entry) => {
                let effects = entry.get_mut().apply(now, event);
                if entry.get().is_empty() {
                    entry.remove();
                }
                effects
            }
            Entry::Vacant(entry) => {
                let mut queue = LocalQueue::default();
                let effects = queue.apply(now, event);
                if !queue.is_empty() {
                    entry.insert(queue);
                }
                effects
            }
        };
        self.carry_out(&effects);
        effects
    }

    pub(super) fn len(&self) -> usize {
        self.queues.len() + self.waiters.len()
    }

    pub(super) fn apply_to_all(&mut self, event: Event) {
        let (now, mut queues) = (LeaseInstant::now(), mem::take(&mut self.queues));
        queues.retain(|_, queue| {
            self.carry_out(&queue.apply(now, event));
            !queue.is_empty()
        });
        self.queues = queues;
    }

    fn carry_out(&mut self, effects: &Effects) {
        if let Some((owner, expiry)) = effects.note
            && let Some(waiter) = self.waiters.get(&owner)
            && let Some(unanswered) = &waiter.unanswered
        {
            unanswered.add(expiry);
        }
        for (owner, wake) in &effects.wake {
            let waiter = self.waiters.get(owner);
            let woken = waiter.map(|it| (Arc::clone(&it.wake_ups), *wake));
            self.woken.extend(woken);
        }
        for owner in &effects.left {
            self.waiters.remove(owner);
        }
    }
}
