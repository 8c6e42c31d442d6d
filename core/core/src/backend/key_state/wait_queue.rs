//! The waiters of one key, first in, first out.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use super::Step;
use crate::AttemptId;
use crate::backend::Mode;

/// The waiters of one key, in the order of their arrival.
#[derive(Debug, Clone, Default)]
pub(super) struct WaitQueue<W> {
    waiters: VecDeque<QueuedWaiter<W>>,
}

#[derive(Debug, Clone)]
pub(super) struct QueuedWaiter<W> {
    pub(super) owner: AttemptId,
    pub(super) mode: Mode,
    pub(super) until: Duration,
    /// A value of the backend, which is not stored.
    wake_up: W,
}

impl<W> QueuedWaiter<W> {
    /// Returns whether a renewal to `until` is due.
    fn is_due(&self, until: Duration, step: &Step<'_, W>) -> bool {
        self.until + step.timing.renew_after <= until
    }
}

impl<W: Default> WaitQueue<W> {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedWaiter<W>> {
        self.waiters.iter()
    }

    pub(super) fn push(&mut self, owner: AttemptId, mode: Mode, until: Duration) {
        self.waiters.push_back(QueuedWaiter {
            owner,
            mode,
            until,
            wake_up: W::default(),
        });
    }

    /// Adds `owner` at the end of the queue, or renews its position if that is due. Returns whether `owner` is first.
    pub(super) fn enter(&mut self, owner: AttemptId, mode: Mode, step: &Step<'_, W>) -> bool {
        let until = step.now + step.timing.waiter_lease;
        if let Some(place) = self.waiters.iter().position(|w| w.owner == owner) {
            if self.waiters[place].is_due(until, step) {
                self.waiters[place].until = until;
            }
            place == 0
        } else {
            self.push(owner, mode, until);
            self.waiters.len() == 1
        }
    }

    /// Renews the positions of these waiters if one of them is due. Returns whether one was due.
    pub(super) fn keep(&mut self, owners: &HashSet<AttemptId>, step: &Step<'_, W>) -> bool {
        let until = step.now + step.timing.waiter_lease;
        let kept = |it: &&mut QueuedWaiter<W>| owners.contains(&it.owner);
        let is_due = (self.waiters.iter_mut().filter(kept)).any(|it| it.is_due(until, step));
        if is_due {
            for waiter in self.waiters.iter_mut().filter(kept) {
                waiter.until = until;
            }
        }
        is_due
    }

    /// Moves the waiters of `owners` to the front. The other waiters keep their order, but lose their positions at
    /// `until` unless they renew them.
    pub(super) fn prefer(&mut self, owners: &HashSet<AttemptId>, until: Duration) {
        let is_known = |it: &QueuedWaiter<W>| owners.contains(&it.owner);
        if !self.waiters.iter().any(is_known) {
            return;
        }
        let (known, others): (VecDeque<_>, VecDeque<_>) =
            self.waiters.drain(..).partition(is_known);
        let others = others.into_iter().map(|it| QueuedWaiter {
            until: it.until.min(until),
            ..it
        });
        self.waiters = known.into_iter().chain(others).collect();
    }

    pub(super) fn remove(&mut self, owner: AttemptId) {
        self.waiters.retain(|w| w.owner != owner);
    }

    pub(super) fn drop_expired(&mut self, now: Duration) {
        self.waiters.retain(|w| w.until > now);
    }

    /// Returns the waiter at position `place`, counted from the front.
    pub(super) fn at(&self, place: usize) -> Option<(AttemptId, Mode)> {
        self.waiters.get(place).map(|w| (w.owner, w.mode))
    }

    /// Returns whether a waiter before `owner` has not received a grant. If `owner` is not in the queue, checks all
    /// waiters.
    pub(super) fn is_before(&self, owner: AttemptId, let_in: impl Fn(AttemptId) -> bool) -> bool {
        let mut before = self.waiters.iter().take_while(|w| w.owner != owner);
        before.any(|w| !let_in(w.owner))
    }

    /// Notifies a waiter. The waiter's position expires together with its grant. So a waiter that does not confirm the
    /// grant does not block others.
    pub(super) fn wake(&mut self, place: usize, grant_ends: Duration, step: &mut Step<'_, W>) {
        if let Some(waiter) = self.waiters.get_mut(place) {
            waiter.until = grant_ends;
            (step.notify)(waiter.owner, &waiter.wake_up);
        }
    }

    /// Removes and notifies all waiters. Each of them repeats its attempt.
    pub(super) fn wake_all(&mut self, step: &mut Step<'_, W>) {
        for waiter in self.waiters.drain(..) {
            (step.notify)(waiter.owner, &waiter.wake_up);
        }
    }

    /// Makes the first waiter repeat its attempt, without a grant.
    pub(super) fn notify_first(&self, step: &mut Step<'_, W>) {
        if let Some(first) = self.waiters.front() {
            (step.notify)(first.owner, &first.wake_up);
        }
    }

    pub(super) fn wake_up(&self, owner: AttemptId) -> Option<&W> {
        let waiter = self.waiters.iter().find(|w| w.owner == owner)?;
        Some(&waiter.wake_up)
    }
}
