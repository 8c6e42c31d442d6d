//! The waiters of this process for one key, as a state machine without IO, timers and tasks.
//!
//! One call hands a lock from one task of a process to the next. The release of one task names the next task, and the
//! server grants that task the lock in the same step. So a waiter that arrives just after another task of its process
//! acquired the lock stays parked for a moment, outside the server's queue. `WaiterRegistry` calls this module for each
//! event.
//!
//! # The states of a waiter
//!
//! | state | meaning |
//! |---|---|
//! | `Parked` | the waiter sends no request yet, for at most [`PARKED_FOR`] |
//! | `Named` | a release in flight names the parked waiter; that release is also the waiter's acquire request |
//! | `Requesting` | the waiter sends acquire requests; the server may or may not have queued the waiter |
//! | `Queued` | the server has put the waiter into its queue |
//! | `Granted` | a release granted the lock to the waiter, and the waiter has not polled since |
//! | `Gone` | the future of a `Parked` or `Named` waiter was dropped; if the waiter arrives again, it is not parked |
//!
//! # The events
//!
//! A waiter is queued here if it is `Requesting` or `Queued`. In this table, a waiter that *asks* becomes `Requesting`
//! and moves to the end of this queue. It is also woken, unless the event comes from the waiter itself. A waiter that
//! becomes the first queued waiter is woken with [`Wake::First`].
//!
//! | event | effect |
//! |---|---|
//! | `Acquired` | the owner becomes the holder, and leaves this queue |
//! | `Arrives` | a new waiter is `Parked` if another attempt became the holder less than [`PARKED_FOR`] ago. If another waiter is still `Parked`, the new waiter is `Parked` until the same time, so that it does not overtake. Otherwise it is `Requesting`. A waiter that is `Gone` asks |
//! | `Looks` | a waiter that has been `Parked` or `Named` for too long asks. A waiter that is `Granted` takes the grant |
//! | `Queued` | a waiter that is `Requesting` becomes `Queued`, and its future ends |
//! | `AttemptDropped` | a waiter that is `Parked` or `Named` becomes `Gone`; others leave |
//! | `WaitBegins`, `WaitEnds` | the number of the waiter's futures changes; a waiter without a future is abandoned after `WAITER_LEASE` |
//! | `ReleaseBegins` | the owner leaves, and the release names a successor, which counts as the holder. The successor is the first queued waiter with a future. If none is queued and the owner is the holder, it is the first waiter that is `Parked`, which becomes `Named`. If the release names none, the time of all waiters that are `Parked` passes, and they are woken |
//! | `ReleaseEnds` | if the lock was handed off, the successor becomes `Granted`. If not, a waiter that is `Named` asks, and the time of all that are `Parked` passes, as above. If there was no reply, a queued successor is woken. If the server's queue is empty, all waiters that are `Queued` become `Requesting`, and are woken |
//! | `Interrupted` | all waiters are woken |
//! | `ForgetAbandoned` | the abandoned waiters leave. Those that are queued here also leave before each arrival |
//!
//! A release may contain a request for a waiter. If the waiter continues without the reply to that request, this module
//! reports the request, so that the waiter's cleanup makes the server refuse it.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use crate::protocol::release_command::Successor;
use crate::time_limits::FIRST_LOOKS;
use leasehold_core::AttemptId;
use leasehold_core::backend::support::clock::LeaseInstant;
pub(crate) use waiter::LocalGrant;
use waiter::{State, Waiter};

#[cfg(test)]
mod tests;
mod waiter;

/// The longest time for which a waiter stays parked. A holder that has had the lock for longer will probably keep it.
pub(crate) const PARKED_FOR: Duration = Duration::from_millis(10);

/// The waiters of this process for one key, in the order of service.
#[derive(Debug, Default)]
pub(crate) struct LocalQueue {
    /// The task of this process that holds the lock, or is about to receive it.
    holder: Option<LocalHolder>,
    /// The waiters that are queued here or `Granted`.
    in_line: VecDeque<Waiter>,
    /// The waiters that are `Parked`, `Named` or `Gone`.
    parked: VecDeque<Waiter>,
    /// The effects of the current event.
    effects: Effects,
}

#[derive(Debug, Clone, Copy)]
struct LocalHolder {
    owner: AttemptId,
    since: LeaseInstant,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Acquired(AttemptId),
    Arrives(AttemptId, Arrival),
    Looks(AttemptId),
    Queued(AttemptId),
    AttemptDropped(AttemptId),
    WaitBegins(AttemptId),
    WaitEnds(AttemptId),
    /// The owner, and the expiry of a request for a parked waiter; `None` if the release cannot contain a request.
    ReleaseBegins(AttemptId, Option<u64>),
    ReleaseEnds(Successor, ReleaseEnd),
    Interrupted,
    ForgetAbandoned,
}

/// The properties of a waiter that arrives.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) can_be_named: bool,
    pub(crate) may_park: bool,
}

/// The result of a release for its successor.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReleaseEnd {
    Passed(LocalGrant),
    NotPassed,
    /// The server's queue is empty, so the server has lost the positions.
    Unawaited,
    /// There was no reply.
    Unheard,
}

#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The next step of the event's waiter.
    pub(crate) step: Step,
    pub(crate) wake: Vec<(AttemptId, Wake)>,
    /// The waiters that have left.
    pub(crate) left: Vec<AttemptId>,
    /// The waiter that the release names.
    pub(crate) successor: Option<Successor>,
    /// A request that may still arrive, and its expiry on the server's clock. The caller records the request before it
    /// wakes any waiter.
    pub(crate) note: Option<(AttemptId, u64)>,
}

/// The next step of an attempt.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    #[default]
    Ask,
    /// Check again when woken, or at this time.
    Wait(LeaseInstant),
    Take(LocalGrant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Poll immediately.
    Now,
    /// Poll after a while, because this waiter is the first, and all waiters that could hand off the lock may have
    /// ended.
    First,
}

impl LocalQueue {
    pub(crate) fn apply(&mut self, now: LeaseInstant, event: Event) -> Effects {
        let first = self.first();
        match event {
            Event::Acquired(owner) => {
                self.set_holder(owner, now);
                self.remove(owner);
            }
            Event::Arrives(owner, arrival) => {
                // The waiters after an abandoned one poll rarely.
                forget_abandoned(&mut self.in_line, now, &mut self.effects.left);
                self.effects.step = self.arrive(owner, arrival, now);
            }
            Event::Looks(owner) => self.effects.step = self.look(owner, now),
            Event::Queued(owner) => self.of(owner, |waiter| {
                waiter.future_ends(now);
                if waiter.is_in_line() {
                    waiter.state = State::Queued;
                }
            }),
            Event::AttemptDropped(owner) => self.drop_attempt(owner, now),
            Event::WaitBegins(owner) => self.of(owner, |waiter| waiter.futures += 1),
            Event::WaitEnds(owner) => self.of(owner, |waiter| waiter.future_ends(now)),
            Event::ReleaseBegins(owner, expiry) => {
                self.remove(owner);
                self.name_successor(owner, expiry, now);
            }
            Event::ReleaseEnds(successor, end) => self.end_release(successor, end, now),
            Event::Interrupted => {
                let all = self.in_line.iter().chain(&self.parked);
                let all = all.map(|it| (it.owner, Wake::Now));
                self.effects.wake.extend(all);
            }
            Event::ForgetAbandoned => {
                for waiters in [&mut self.in_line, &mut self.parked] {
                    forget_abandoned(waiters, now, &mut self.effects.left);
                }
                // The release may have handed the lock to another process, so no waiter is parked for this holder.
                let has_waiters = !self.in_line.is_empty() || !self.parked.is_empty();
                self.holder = self.holder.filter(|it| it.is_recent(now) || has_waiters);
            }
        }
        if let (Some(before), Some(first)) = (first, self.first())
            && !self.waiter(before).is_some_and(|it| it.is_in_line())
        {
            self.effects.wake.push((first, Wake::First));
        }
        mem::take(&mut self.effects)
    }

    /// Returns whether the queue has no waiters and no known holder.
    pub(crate) fn is_empty(&self) -> bool {
        self.holder.is_none() && self.in_line.is_empty() && self.parked.is_empty()
    }

    /// Returns the first queued waiter.
    pub(crate) fn first(&self) -> Option<AttemptId> {
        self.find(Waiter::is_in_line)
    }

    /// Returns the first waiter that is queued here or is `Granted`.
    pub(crate) fn longest_waiter(&self) -> Option<AttemptId> {
        self.find(Waiter::has_asked)
    }

    fn find(&self, is_it: impl Fn(&Waiter) -> bool) -> Option<AttemptId> {
        self.in_line.iter().find(|it| is_it(it)).map(|it| it.owner)
    }

    fn waiter(&mut self, owner: AttemptId) -> Option<&mut Waiter> {
        let mut all = self.in_line.iter_mut().chain(&mut self.parked);
        all.find(|it| it.owner == owner)
    }

    fn of(&mut self, owner: AttemptId, change: impl FnOnce(&mut Waiter)) {
        if let Some(waiter) = self.waiter(owner) {
            change(waiter);
        }
    }

    fn is_holder(&self, owner: AttemptId) -> bool {
        self.holder.is_some_and(|holder| holder.owner == owner)
    }

    fn set_holder(&mut self, owner: AttemptId, now: LeaseInstant) {
        if !self.is_holder(owner) {
            self.holder = Some(LocalHolder { owner, since: now });
        }
    }

    fn arrive(&mut self, owner: AttemptId, arrival: Arrival, now: LeaseInstant) -> Step {
        if let Some(waiter) = self.waiter(owner) {
            waiter.futures += 1;
            return self.look(owner, now);
        }
        let mut waiter = Waiter {
            owner,
            can_be_named: arrival.can_be_named,
            state: State::Requesting,
            futures: 1,
            alone_since: now,
        };
        let others = self.holder.filter(|it| it.owner != owner);
        let until = match others.is_some_and(|it| it.is_recent(now)) {
            true => Some(now.after(PARKED_FOR)),
            false => self.parked_until().filter(|it| now < *it),
        };
        if let Some(until) = until.filter(|_| arrival.may_park) {
            waiter.state = State::Parked { until };
            self.parked.push_back(waiter);
            return Step::Wait(until);
        }
        self.in_line.push_back(waiter);
        Step::Ask
    }

    /// Returns the time at which the last waiter that is `Parked` asks.
    fn parked_until(&self) -> Option<LeaseInstant> {
        self.parked.iter().rev().find_map(|it| match it.state {
            State::Parked { until } => Some(until),
            _ => None,
        })
    }

    fn look(&mut self, owner: AttemptId, now: LeaseInstant) -> Step {
        match self.waiter(owner).map(|it| it.state) {
            Some(State::Parked { until } | State::Named { until, .. }) if now < until => {
                return Step::Wait(until);
            }
            Some(State::Granted(grant)) => {
                self.of(owner, |waiter| waiter.state = State::Requesting);
                return Step::Take(grant);
            }
            None | Some(State::Requesting | State::Queued) => return Step::Ask,
            // The release that contains the waiter's request may belong to a task that is not polled.
            Some(State::Named { expiry, .. }) => self.effects.note = Some((owner, expiry)),
            Some(State::Parked { .. } | State::Gone) => {}
        }
        self.ask(owner);
        Step::Ask
    }

    fn drop_attempt(&mut self, owner: AttemptId, now: LeaseInstant) {
        match self.waiter(owner).map(|it| it.state) {
            Some(State::Named { expiry, .. }) => self.effects.note = Some((owner, expiry)),
            Some(State::Parked { .. } | State::Gone) => {}
            _has_asked => return self.remove(owner),
        }
        self.of(owner, |waiter| {
            waiter.state = State::Gone;
            waiter.future_ends(now);
        });
    }

    fn name_successor(&mut self, owner: AttemptId, expiry: Option<u64>, now: LeaseInstant) {
        let mut in_line = self.in_line.iter().filter(|it| it.is_in_line());
        let mut successor = in_line.find_map(|waiter| waiter.named(None));
        if self.is_holder(owner)
            && successor.is_none()
            && let Some(expiry) = expiry
        {
            successor = self.name_parked(expiry, now);
        }
        match successor {
            Some(next) if self.is_holder(owner) => self.set_holder(next.owner, now),
            Some(_) => {}
            None => self.unpark(owner, now),
        }
        self.effects.successor = successor;
    }

    /// Names the first parked waiter. Does not name a waiter whose time is over, because no task polls that waiter, and
    /// it would block others.
    fn name_parked(&mut self, expiry: u64, now: LeaseInstant) -> Option<Successor> {
        self.parked.iter_mut().find_map(|waiter| {
            let State::Parked { until } = waiter.state else {
                return None;
            };
            let until = (now < until).then(|| until.after(FIRST_LOOKS))?;
            let named = waiter.named(Some(expiry))?;
            waiter.state = State::Named { until, expiry };
            Some(named)
        })
    }

    fn end_release(&mut self, successor: Successor, end: ReleaseEnd, now: LeaseInstant) {
        let Successor { owner, expiry } = successor;
        // A waiter that continued without the reply is in another state now.
        let waiter = self.waiter(owner).filter(|it| match expiry {
            Some(_) => matches!(it.state, State::Named { .. }),
            None => it.has_asked(),
        });
        match (end, waiter) {
            (ReleaseEnd::Passed(grant), Some(_)) => {
                if expiry.is_some() {
                    self.ask(owner);
                }
                self.of(owner, |it| it.state = State::Granted(grant));
                return self.effects.wake.push((owner, Wake::Now));
            }
            // If the release contained a request for a waiter that is `Gone` now, its cleanup releases the lock.
            (ReleaseEnd::Passed(_), None) if expiry.is_some() => return,
            (_, Some(_)) if expiry.is_some() => {
                self.ask(owner);
                self.effects.wake.push((owner, Wake::Now));
            }
            (ReleaseEnd::Unheard, Some(_)) => self.effects.wake.push((owner, Wake::Now)),
            (ReleaseEnd::Unawaited, _) => self.requeue(),
            _ => {}
        }
        if let (ReleaseEnd::Unheard, Some(expiry)) = (end, expiry) {
            self.effects.note = Some((owner, expiry));
        }
        self.unpark(owner, now);
    }

    fn requeue(&mut self) {
        while let Some(queued) = self.find(|it| matches!(it.state, State::Queued)) {
            self.of(queued, |waiter| waiter.state = State::Requesting);
            self.effects.wake.push((queued, Wake::Now));
        }
    }

    /// Wakes all parked waiters, if `holder` was the reason for parking them. Each of them asks when its task runs. So
    /// this queue has the order of the requests, as the queue of the server.
    fn unpark(&mut self, holder: AttemptId, now: LeaseInstant) {
        if self.is_holder(holder) {
            self.holder = None;
            for waiter in &mut self.parked {
                if let State::Parked { until } = &mut waiter.state {
                    *until = now;
                    self.effects.wake.push((waiter.owner, Wake::Now));
                }
            }
        }
    }

    /// Moves a waiter to the end of the queue, and makes the waiter send a request.
    fn ask(&mut self, owner: AttemptId) {
        if let Some(mut waiter) = self.take(owner) {
            waiter.state = State::Requesting;
            self.in_line.push_back(waiter);
        }
    }

    fn remove(&mut self, owner: AttemptId) {
        let left = self.take(owner).map(|it| it.owner);
        self.effects.left.extend(left);
    }

    fn take(&mut self, owner: AttemptId) -> Option<Waiter> {
        [&mut self.in_line, &mut self.parked]
            .into_iter()
            .find_map(|waiters| {
                let place = waiters.iter().position(|it| it.owner == owner)?;
                waiters.remove(place)
            })
    }
}

/// Removes waiters whose runtime ended before their cleanup.
fn forget_abandoned(waiters: &mut VecDeque<Waiter>, now: LeaseInstant, left: &mut Vec<AttemptId>) {
    waiters.retain(|waiter| {
        let is_abandoned = waiter.is_abandoned(now);
        left.extend(is_abandoned.then_some(waiter.owner));
        !is_abandoned
    });
}

impl LocalHolder {
    fn is_recent(&self, now: LeaseInstant) -> bool {
        now < self.since.after(PARKED_FOR)
    }
}
