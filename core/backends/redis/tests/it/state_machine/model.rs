//! The lock as a plain specification, without time.

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::state_machine::step::{Answer, Draw, Holder, Id, Seen, Step, any_step, process};
use crate::state_machine::tally::Tally;

#[derive(Debug, Clone, Copy)]
struct Place {
    who: Id,
    /// Whether the lease has not expired.
    alive: bool,
    /// Whether the waiter receives notifications.
    hears: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// Whether each attempt queues.
    attempts: Vec<bool>,
    holder: Option<Holder>,
    line: Vec<Place>,
    fence: Option<(Draw, Id)>,
    draws: usize,
    /// The waiters, in the order in which their processes registered them.
    registered: Vec<Id>,
    /// The direct hand-offs of releases that their waiters have not accepted yet.
    passed: Vec<(Id, Draw)>,
    /// The answer to the last step.
    pub(crate) answer: Answer,
    pub(crate) tally: Tally,
}

impl Model {
    fn new() -> Self {
        Self {
            attempts: Vec::new(),
            holder: None,
            line: Vec::new(),
            fence: None,
            draws: 0,
            registered: Vec::new(),
            passed: Vec::new(),
            answer: Answer::Nothing,
            tally: Tally::NOTHING,
        }
    }

    pub(crate) fn queues(&self, who: Id) -> bool {
        self.attempts[who]
    }

    pub(crate) fn seen(&self) -> Seen {
        let waits = |place: &&Place| place.alive && self.holder != Some(Holder::Ours(place.who));
        Seen {
            holder: self.holder,
            fence: self.fence,
            line: self.line.iter().map(|place| place.who).collect(),
            waiting: self.line.iter().filter(waits).count(),
        }
    }

    /// Returns the first waiter that receives notifications, or that the answer names. Removes dead waiters in front of
    /// it.
    fn next_in_line(&mut self, hears: Option<Id>) -> Option<Id> {
        let mut at = 0;
        while let Some(place) = self.line.get(at) {
            if !place.alive {
                self.line.remove(at);
                self.tally.purged += 1;
            } else if place.hears || Some(place.who) == hears {
                return Some(place.who);
            } else {
                self.tally.passed_over_deaf += 1;
                at += 1;
            }
        }
        None
    }

    /// Grants the lock to `next`, which keeps its position until it confirms.
    fn hand_to(&mut self, next: Option<Id>) {
        self.holder = next.map(Holder::Ours);
        self.tally.hand_offs += u64::from(next.is_some());
    }

    /// Hands off the lock to the next waiter directly, if the release names it.
    fn pass_on(&mut self, named: Option<Id>) {
        let next = self.next_in_line(named);
        match next.filter(|_| next == named) {
            None => self.hand_to(next),
            Some(next) => {
                self.holder = Some(Holder::Ours(next));
                self.fence = Some((self.draws, next));
                self.passed.push((next, self.draws));
                self.draws += 1;
                self.line.retain(|place| place.who != next);
                self.tally.passed_on += 1;
            }
        }
    }

    fn attempt(&mut self, who: Id) -> Answer {
        if self.queues(who) && !self.registered.contains(&who) {
            self.registered.push(who);
        }
        let answer = match self.passed.iter().position(|pass| pass.0 == who) {
            Some(pass) => Answer::Granted(self.passed.remove(pass).1),
            None => self.ask(who),
        };
        if answer != Answer::Busy {
            self.gets_up(who);
        }
        answer
    }

    fn gets_up(&mut self, who: Id) {
        self.registered.retain(|waiter| *waiter != who);
        self.passed.retain(|pass| pass.0 != who);
    }

    fn ask(&mut self, who: Id) -> Answer {
        let mine = Some(Holder::Ours(who));
        if self.holder.is_none() {
            let next = self.next_in_line(Some(who));
            if next.is_some_and(|next| next != who) {
                self.hand_to(next);
            }
        }
        if self.holder.is_some() && self.holder != mine {
            if self.queues(who) {
                let place = Place {
                    who,
                    alive: true,
                    hears: true,
                };
                match self.line.iter_mut().find(|place| place.who == who) {
                    Some(old) => *old = place,
                    None => self.line.push(place),
                }
            }
            return Answer::Busy;
        }
        let token = match self.fence {
            Some((token, drawer)) if drawer == who && self.holder == mine => {
                self.tally.second_copies += 1;
                token
            }
            _ => {
                self.tally.hand_offs_confirmed += u64::from(self.holder == mine);
                self.tally.grants += 1;
                self.draws += 1;
                self.draws - 1
            }
        };
        self.fence = Some((token, who));
        self.holder = mine;
        self.line.retain(|place| place.who != who);
        Answer::Granted(token)
    }

    fn renew(&mut self, who: Id, token: Draw) -> Answer {
        let right = self.fence.is_none_or(|fence| fence == (token, who));
        if self.holder != Some(Holder::Ours(who)) || !right {
            self.tally.renewals_refused += 1;
            return Answer::Gone;
        }
        self.fence = Some((token, who));
        Answer::Extended
    }

    fn leave(&mut self, who: Id) -> bool {
        self.gets_up(who);
        let mut registered = self.registered.iter().copied();
        let has_it = |waiter: &Id| self.passed.iter().any(|pass| pass.0 == *waiter);
        let named = registered.find(|waiter| process(*waiter) == process(who) && !has_it(waiter));
        self.line.retain(|place| place.who != who);
        let held = self.holder == Some(Holder::Ours(who));
        if self.holder.is_none() || held {
            self.pass_on(named);
        }
        held
    }

    fn place(&mut self, who: Id) -> Option<&mut Place> {
        self.line.iter_mut().find(|place| place.who == who)
    }

    fn perform(&mut self, step: &Step) -> Answer {
        match *step {
            Step::Fresh(queues) => {
                self.attempts.push(queues);
                return self.attempt(self.attempts.len() - 1);
            }
            Step::Attempt(who) => return self.attempt(who),
            Step::Renew(who, token) => return self.renew(who, token),
            Step::Release(who) => {
                return match self.leave(who) {
                    true => Answer::Released,
                    false => Answer::AlreadyGone,
                };
            }
            Step::Cleanup(who) => {
                self.leave(who);
            }
            Step::ForceRelease => {
                let held = self.holder.take().is_some();
                let next = self.next_in_line(None);
                self.hand_to(next);
                return Answer::Forced(held);
            }
            Step::LockExpires => self.holder = None,
            Step::PlaceExpires(who) => {
                self.place(who)
                    .into_iter()
                    .for_each(|place| place.alive = false);
            }
            Step::GoesDeaf(who) => {
                self.place(who)
                    .into_iter()
                    .for_each(|place| place.hears = false);
            }
            Step::ForeignSet => {
                self.tally.foreign_holds += u64::from(self.holder.is_none());
                self.holder.get_or_insert(Holder::Foreign);
            }
            Step::ForeignDel => {
                self.holder.take_if(|holder| *holder == Holder::Foreign);
            }
            Step::CounterIsLost => self.fence = None,
        }
        Answer::Nothing
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::new()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        // The newest attempts, and all holders and waiters.
        let all = state.attempts.len();
        let mut speakers: Vec<Id> = (all.saturating_sub(4)..all).collect();
        speakers.extend(state.line.iter().map(|place| place.who));
        if let Some(Holder::Ours(who)) = state.holder {
            speakers.extend([who; 2]);
        }
        any_step(speakers, state.draws)
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        model.answer = model.perform(step);
        model
    }

    fn preconditions(model: &Self, step: &Step) -> bool {
        match step {
            Step::Fresh(_) => model.attempts.len() < 12,
            Step::Renew(who, draw) => {
                // An attempt renews only with its own token. No other token can restore a lost counter.
                let healing = model.fence.is_none() && model.holder == Some(Holder::Ours(*who));
                *who < model.attempts.len() && *draw < model.draws && !healing
            }
            Step::Attempt(who)
            | Step::Release(who)
            | Step::Cleanup(who)
            | Step::PlaceExpires(who)
            | Step::GoesDeaf(who) => *who < model.attempts.len(),
            _ => true,
        }
    }
}
