//! The waiters of this process for one key, as a state machine: no IO, no timers, no tasks, and time is passed in.
//!
//! A lock goes from task to task of one process with one call each: the release of one names the next, and the server
//! grants the lock to it in the same step. A waiter that comes just after another task of its process acquired the lock
//! is therefore parked for a moment, and is not in the server's queue yet. `WaiterRegistry` feeds each queue its events
//! and carries out their effects.
//!
//! # The states of a waiter
//!
//! | state | what it means |
//! |---|---|
//! | `Parked` | it sends nothing yet, for at most [`PARKED_FOR`], unless a release names it |
//! | `Named` | it was parked, and a release names it, which is its acquire request as well |
//! | `Requesting` | it sends acquire requests; whether the server has queued it is not known |
//! | `Queued` | the server has put it into its queue |
//! | `Granted` | a release granted it the lock, and it has not looked since |
//! | `Gone` | its future was dropped while it was parked: if it comes again, it is not parked again |
//!
//! # The events
//!
//! A waiter is in line if it is `Requesting` or `Queued`. One that asks becomes `Requesting`, goes to the end of the line
//! and is woken. Who is the first in line since the one before left, or was granted the lock, is told so ([`Wake::First`]).
//!
//! | event | what follows |
//! |---|---|
//! | `Acquired` | the owner is the holder, and leaves |
//! | `Arrives` | a new waiter is `Parked` if another one became the holder less than [`PARKED_FOR`] ago, or else `Requesting`; one that is `Gone` asks |
//! | `Looks` | one that is `Parked` or `Named` for too long asks; one that is `Granted` takes the grant |
//! | `Queued` | one in line is `Queued` |
//! | `AttemptDropped` | one that is `Parked` or `Named` is `Gone`; others leave |
//! | `WaitBegins`, `WaitEnds` | a future more, or less; without one a waiter is abandoned after [`WAITER_LEASE`] |
//! | `ReleaseBegins` | the owner leaves, and a successor is named: the first in line that has a future, or else the first that is `Parked`, which is `Named` then. It is the holder. If there is none, all that are `Parked` ask |
//! | `ReleaseEnds` | if the lock was passed on, the successor is `Granted`. If not, one that is `Named` asks, and so do all that are `Parked`. If nobody heard the answer, a successor in line is woken. If the server's queue is empty, all that are `Queued` are `Requesting`, and woken |
//! | `Interrupted` | all are woken |
//! | `ForgetAbandoned` | the abandoned leave, as before each arrival |
//!
//! Where a waiter goes on without the answer to what a release asks for it, that request is noted: it may still arrive,
//! and the waiter's cleanup has the server refuse it.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use crate::backend::redis::protocol::release_command::Successor;
use crate::backend::redis::timing::{FIRST_LOOKS, WAITER_LEASE};
use crate::clock::LeaseInstant;
use crate::{FencingToken, OwnerId};

#[cfg(test)]
mod tests;

/// How long a waiter is parked at most: so much later than others it may be queued. Who has had the lock for longer will
/// not release it soon.
pub(crate) const PARKED_FOR: Duration = Duration::from_millis(10);

/// The waiters of this process for one key, in the order in which they are served here.
#[derive(Debug, Default)]
pub(crate) struct LocalQueue {
    /// Who of this process has the lock, or is being granted it.
    holder: Option<Holder>,
    waiters: VecDeque<Waiter>,
    /// Of the event that is being applied.
    effects: Effects,
}

#[derive(Debug, Clone, Copy)]
struct Holder {
    owner: OwnerId,
    since: LeaseInstant,
}

#[derive(Debug)]
struct Waiter {
    owner: OwnerId,
    can_be_named: bool,
    state: State,
    /// How many futures it has. A task that was dropped with its runtime has none.
    futures: usize,
    /// When it had one last, if it has none.
    alone_since: LeaseInstant,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Parked { until: LeaseInstant },
    Named { until: LeaseInstant, expiry: u64 },
    Requesting,
    Queued,
    Granted(LocalGrant),
    Gone,
}

/// A lock that a release of this process has passed on to a waiter, for as long as it has to confirm that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalGrant {
    pub(crate) token: FencingToken,
    /// When that release was sent: from here on the lease counts.
    pub(crate) sent: LeaseInstant,
    /// How often the connection had been interrupted by then: if it was since, another server may be in charge.
    pub(crate) interruptions: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Acquired(OwnerId),
    Arrives(OwnerId, Arrival),
    Looks(OwnerId),
    Queued(OwnerId),
    AttemptDropped(OwnerId),
    WaitBegins(OwnerId),
    WaitEnds(OwnerId),
    /// With the expiry of what is asked on behalf of a parked waiter, on the server's clock; none if nobody can be asked for.
    ReleaseBegins(OwnerId, Option<u64>),
    ReleaseEnds(Successor, ReleaseEnd),
    Interrupted,
    ForgetAbandoned,
}

/// Who arrives.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) can_be_named: bool,
    pub(crate) may_park: bool,
}

/// How a release ended for the successor that it named.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReleaseEnd {
    Passed(LocalGrant),
    NotPassed,
    /// The server's queue is empty: it has lost the places.
    Unawaited,
    /// There is no answer.
    Unheard,
}

/// What follows from an event.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// What the waiter does that the event is about.
    pub(crate) step: Step,
    pub(crate) wake: Vec<(OwnerId, Wake)>,
    /// Who does not wait any more.
    pub(crate) left: Vec<OwnerId>,
    /// Whom the release names.
    pub(crate) successor: Option<Successor>,
    /// A request that may still arrive, and its expiry on the server's clock. It is noted before anybody is woken.
    pub(crate) note: Option<(OwnerId, u64)>,
}

/// What an attempt does next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    #[default]
    Ask,
    /// Look again when it is woken, at the latest then.
    Wait(LeaseInstant),
    Take(LocalGrant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// To look at once.
    Now,
    /// To look after a while, for it is the first in line: where the lock went all who would hand it on may have died.
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
                self.forget_abandoned(now);
                self.arrive(owner, arrival, now);
                self.effects.step = self.look(owner, now);
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
            Event::ReleaseEnds(successor, end) => self.end_release(successor, end),
            Event::Interrupted => {
                let all = self.waiters.iter().map(|it| (it.owner, Wake::Now));
                self.effects.wake.extend(all);
            }
            Event::ForgetAbandoned => {
                self.forget_abandoned(now);
                // It may have handed the lock over to another process. Nobody is parked because of it any more.
                let stays = |it: &Holder| it.is_recent(now) || !self.waiters.is_empty();
                self.holder = self.holder.filter(stays);
            }
        }
        if let (Some(before), Some(first)) = (first, self.first())
            && !self.waiter(before).is_some_and(|it| it.is_in_line())
        {
            self.effects.wake.push((first, Wake::First));
        }
        mem::take(&mut self.effects)
    }

    /// Nobody waits here, and nobody is known to have the lock.
    pub(crate) fn is_empty(&self) -> bool {
        self.holder.is_none() && self.waiters.is_empty()
    }

    /// The first in line.
    pub(crate) fn first(&self) -> Option<OwnerId> {
        self.find(Waiter::is_in_line)
    }

    /// The first that is in line, or was just granted the lock.
    pub(crate) fn longest_waiter(&self) -> Option<OwnerId> {
        self.find(Waiter::has_asked)
    }

    fn first_parked(&self) -> Option<OwnerId> {
        self.find(|it| matches!(it.state, State::Parked { .. }))
    }

    fn find(&self, is_it: impl Fn(&Waiter) -> bool) -> Option<OwnerId> {
        self.waiters.iter().find(|it| is_it(it)).map(|it| it.owner)
    }

    fn waiter(&mut self, owner: OwnerId) -> Option<&mut Waiter> {
        self.waiters.iter_mut().find(|it| it.owner == owner)
    }

    fn of(&mut self, owner: OwnerId, change: impl FnOnce(&mut Waiter)) {
        if let Some(waiter) = self.waiter(owner) {
            change(waiter);
        }
    }

    fn is_holder(&self, owner: OwnerId) -> bool {
        self.holder.is_some_and(|holder| holder.owner == owner)
    }

    fn set_holder(&mut self, owner: OwnerId, now: LeaseInstant) {
        if !self.is_holder(owner) {
            self.holder = Some(Holder { owner, since: now });
        }
    }

    fn arrive(&mut self, owner: OwnerId, arrival: Arrival, now: LeaseInstant) {
        if let Some(waiter) = self.waiter(owner) {
            waiter.futures += 1;
            return;
        }
        let others = self.holder.filter(|it| it.owner != owner);
        let until = now.after(PARKED_FOR);
        let state = match others.filter(|it| arrival.may_park && it.is_recent(now)) {
            Some(_) => State::Parked { until },
            None => State::Requesting,
        };
        self.waiters.push_back(Waiter {
            owner,
            can_be_named: arrival.can_be_named,
            state,
            futures: 1,
            alone_since: now,
        });
    }

    fn look(&mut self, owner: OwnerId, now: LeaseInstant) -> Step {
        match self.waiter(owner).map(|it| it.state) {
            Some(State::Parked { until } | State::Named { until, .. }) if now < until => {
                return Step::Wait(until);
            }
            Some(State::Granted(grant)) => {
                self.of(owner, |waiter| waiter.state = State::Requesting);
                return Step::Take(grant);
            }
            None | Some(State::Requesting | State::Queued) => return Step::Ask,
            // Who asks on its behalf may be a task that is not polled.
            Some(State::Named { expiry, .. }) => self.effects.note = Some((owner, expiry)),
            Some(State::Parked { .. } | State::Gone) => {}
        }
        self.ask(owner);
        Step::Ask
    }

    fn drop_attempt(&mut self, owner: OwnerId, now: LeaseInstant) {
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

    fn name_successor(&mut self, owner: OwnerId, expiry: Option<u64>, now: LeaseInstant) {
        let mut in_line = self.waiters.iter().filter(|it| it.is_in_line());
        let mut successor = in_line.find_map(|waiter| waiter.named(None));
        while self.is_holder(owner)
            && successor.is_none()
            && let (Some(expiry), Some(parked)) = (expiry, self.first_parked())
        {
            successor = self.name_parked(parked, expiry, now);
            if successor.is_none() {
                self.ask_and_wake(parked);
            }
        }
        match successor {
            Some(next) if self.is_holder(owner) => self.set_holder(next.owner, now),
            Some(_) => {}
            None => self.unpark(owner),
        }
        self.effects.successor = successor;
    }

    /// One that is late is not polled, and would keep the lock from the others.
    fn name_parked(&mut self, owner: OwnerId, expiry: u64, now: LeaseInstant) -> Option<Successor> {
        let waiter = self.waiter(owner)?;
        let State::Parked { until } = waiter.state else {
            return None;
        };
        let until = (now < until).then(|| until.after(FIRST_LOOKS))?;
        waiter.state = State::Named { until, expiry };
        waiter.named(Some(expiry))
    }

    fn end_release(&mut self, Successor { owner, expiry }: Successor, end: ReleaseEnd) {
        // One that went on without the answer is in another state by now.
        let waiter = self.waiter(owner).filter(|it| match expiry {
            Some(_) => matches!(it.state, State::Named { .. }),
            None => it.has_asked(),
        });
        match (end, waiter) {
            (ReleaseEnd::Passed(grant), Some(waiter)) => {
                waiter.state = State::Granted(grant);
                return self.effects.wake.push((owner, Wake::Now));
            }
            // One that has gone, and was asked for, releases the lock when it cleans up.
            (ReleaseEnd::Passed(_), None) if expiry.is_some() => return,
            (_, Some(_)) if expiry.is_some() => self.ask_and_wake(owner),
            (ReleaseEnd::Unheard, Some(_)) => self.effects.wake.push((owner, Wake::Now)),
            (ReleaseEnd::Unawaited, _) => self.requeue(),
            _ => {}
        }
        if let (ReleaseEnd::Unheard, Some(expiry)) = (end, expiry) {
            self.effects.note = Some((owner, expiry));
        }
        self.unpark(owner);
    }

    fn requeue(&mut self) {
        while let Some(queued) = self.find(|it| matches!(it.state, State::Queued)) {
            self.of(queued, |waiter| waiter.state = State::Requesting);
            self.effects.wake.push((queued, Wake::Now));
        }
    }

    /// Has all ask that are parked while this one is the holder, which it is no more.
    fn unpark(&mut self, holder: OwnerId) {
        if self.is_holder(holder) {
            self.holder = None;
            while let Some(parked) = self.first_parked() {
                self.ask_and_wake(parked);
            }
        }
    }

    fn ask_and_wake(&mut self, owner: OwnerId) {
        self.ask(owner);
        self.effects.wake.push((owner, Wake::Now));
    }

    /// It is the last to ask of those in line.
    fn ask(&mut self, owner: OwnerId) {
        if let Some(mut waiter) = self.take(owner) {
            waiter.state = State::Requesting;
            self.waiters.push_back(waiter);
        }
    }

    fn remove(&mut self, owner: OwnerId) {
        let left = self.take(owner).map(|it| it.owner);
        self.effects.left.extend(left);
    }

    fn take(&mut self, owner: OwnerId) -> Option<Waiter> {
        let place = self.waiters.iter().position(|it| it.owner == owner)?;
        self.waiters.remove(place)
    }

    /// Has those leave whose runtime ended, and their cleanup with it: those behind them look seldom.
    fn forget_abandoned(&mut self, now: LeaseInstant) {
        while let Some(abandoned) = self.find(|it| it.is_abandoned(now)) {
            self.remove(abandoned);
        }
    }
}

impl Holder {
    fn is_recent(&self, now: LeaseInstant) -> bool {
        now < self.since.after(PARKED_FOR)
    }
}

impl Waiter {
    fn is_in_line(&self) -> bool {
        matches!(self.state, State::Requesting | State::Queued)
    }

    fn has_asked(&self) -> bool {
        self.is_in_line() || matches!(self.state, State::Granted(_))
    }

    /// How a release names it, if it is there to take the lock.
    fn named(&self, expiry: Option<u64>) -> Option<Successor> {
        let owner = self.owner;
        (self.can_be_named && self.futures > 0).then_some(Successor { owner, expiry })
    }

    fn future_ends(&mut self, now: LeaseInstant) {
        self.futures = self.futures.saturating_sub(1);
        self.alone_since = now;
    }

    /// Whether it has had no future for so long that its place on the server is over.
    fn is_abandoned(&self, now: LeaseInstant) -> bool {
        self.futures == 0 && now >= self.alone_since.after(WAITER_LEASE)
    }
}
