//! The lock as a plain specification, without time.

use std::marker::PhantomData;

use leasehold::backend::Mode;
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::place::Place;
use crate::step::{Answer, Family, Id, Seen, Step, any_step, process, specified};
use crate::tally::Tally;

#[derive(Debug, Clone, Copy)]
struct Holder {
    who: Id,
    mode: Mode,
    confirmed: bool,
    /// The last secret of this holder for a handover.
    secret: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Waiter {
    who: Id,
    mode: Mode,
    /// Whether the lease has not expired.
    alive: bool,
    /// Whether the waiter receives notifications.
    hears: bool,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    mode: Mode,
    queues: bool,
    /// The previous holder from whom the attempt accepts the lock, and the secret that it presents.
    giver: Option<(Id, Option<usize>)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Model<F, P> {
    attempts: Vec<Asked>,
    holders: Vec<Holder>,
    line: Vec<Waiter>,
    /// The holders that have handed over the lock.
    givers: Vec<Id>,
    /// The attempts that created the secrets, by the index of the secret.
    secrets: Vec<Id>,
    /// The attempt whose outcome is recorded.
    recorded: Option<Id>,
    /// The waiters, in the order in which their processes registered them.
    registered: Vec<Id>,
    /// The waiter that got the lock by a direct hand-off in the last step.
    passed_to: Option<Id>,
    /// The answer to the last step.
    answer: Answer,
    pub(crate) tally: Tally,
    kind: PhantomData<(F, P)>,
}

fn size(mode: Mode) -> u32 {
    match mode {
        Mode::Permits { count, .. } => count,
        _ => 1,
    }
}

impl<F: Family, P: Place> Model<F, P> {
    fn new() -> Self {
        Self {
            attempts: Vec::new(),
            holders: Vec::new(),
            line: Vec::new(),
            givers: Vec::new(),
            secrets: Vec::new(),
            recorded: None,
            registered: Vec::new(),
            passed_to: None,
            answer: Answer::Nothing,
            tally: Tally::NOTHING,
            kind: PhantomData,
        }
    }

    /// Returns the waiter that got the lock by a direct hand-off in the last step. It accepts the lock immediately.
    pub(crate) fn passed_to(&self) -> Option<Id> {
        self.passed_to
    }

    pub(crate) fn answer(&self) -> Answer {
        self.answer
    }

    /// Returns whether the holder has confirmed its grant. A waiter with a direct hand-off has not confirmed it yet.
    pub(crate) fn has_confirmed(&self, who: Id) -> bool {
        self.holders.iter().any(|h| h.who == who && h.confirmed)
    }

    pub(crate) fn seen(&self) -> Seen {
        let alone = self.holders.iter().find(|h| h.mode == Mode::Exclusive);
        let waits = |w: &&Waiter| w.alive && !self.holds(w.who);
        Seen {
            alone: alone.map(|h| h.who),
            holders: self.taken() as usize,
            waiting: self.line.iter().filter(waits).count(),
        }
    }

    fn taken(&self) -> u32 {
        self.holders.iter().map(|h| size(h.mode)).sum()
    }

    fn holds(&self, who: Id) -> bool {
        self.holders.iter().any(|h| h.who == who)
    }

    fn waits(&self, who: Id) -> bool {
        self.line.iter().any(|w| w.who == who)
    }

    fn fits(&self, mode: Mode) -> bool {
        let others = self.holders.iter().map(|holder| specified(holder.mode));
        specified(mode).fits(others)
    }

    /// Grants the lock to the first waiters that fit, up to the position of the caller.
    fn hand_on(&mut self, caller: Option<Id>) -> bool {
        self.hand_on_naming(caller, None)
    }

    /// Like `hand_on`, but the waiter `named` needs neither a notification nor a confirmation.
    fn hand_on_naming(&mut self, caller: Option<Id>, named: Option<Id>) -> bool {
        let (mut at, mut let_in) = (0, 0);
        while let Some(&waiter) = self.line.get(at) {
            if !waiter.alive {
                self.line.remove(at);
                self.tally.purged += 1;
            } else if Some(waiter.who) == caller {
                return true;
            } else if self.holds(waiter.who) {
                at += 1;
            } else if named == Some(waiter.who) && self.fits(waiter.mode) {
                self.line.remove(at);
                self.holders.push(Holder {
                    who: waiter.who,
                    mode: waiter.mode,
                    confirmed: true,
                    secret: None,
                });
                self.registered.retain(|who| *who != waiter.who);
                self.passed_to = Some(waiter.who);
                self.tally.passed_on += 1;
                return false;
            } else if !waiter.hears {
                self.tally.passed_over_deaf += 1;
                at += 1;
            } else if self.fits(waiter.mode) {
                self.holders.push(Holder {
                    who: waiter.who,
                    mode: waiter.mode,
                    confirmed: false,
                    secret: None,
                });
                let_in += 1;
                self.tally.handed_on_together += u64::from(let_in > 1);
                if waiter.mode == Mode::Exclusive {
                    return false;
                }
                at += 1;
            } else {
                return false;
            }
        }
        true
    }

    fn is_shared_or_free(&self) -> bool {
        self.holders.iter().all(|h| h.mode != Mode::Exclusive)
    }

    fn attempt(&mut self, who: Id) -> Answer {
        if self.attempts[who].queues && !self.registered.contains(&who) {
            self.registered.push(who);
        }
        let answer = self.ask(who);
        if answer != Answer::Busy {
            self.registered.retain(|waiter| *waiter != who);
        }
        answer
    }

    /// Returns the waiter that a release of `who` names: the first waiter of its process for an exclusive lock.
    fn named_by(&self, who: Id) -> Option<Id> {
        let mut registered = self.registered.iter().copied();
        registered.find(|&waiter| {
            let Asked { mode, giver, .. } = self.attempts[waiter];
            let alone = mode == Mode::Exclusive && giver.is_none();
            P::IS_LAZY && !F::ONCE && alone && process(waiter) == process(who)
        })
    }

    fn ask(&mut self, who: Id) -> Answer {
        let Asked {
            mode,
            queues,
            giver,
        } = self.attempts[who];
        if let Some(recorded) = self.recorded {
            return Answer::Recorded(recorded);
        }
        if self.givers.contains(&who) {
            self.tally.late += 1;
            return Answer::Late;
        }
        if let Some((giver, secret)) = giver
            && !self.holds(who)
        {
            let mut holders = self.holders.iter_mut();
            let gives =
                |h: &&mut Holder| h.who == giver && h.secret.is_some() && h.secret == secret;
            match holders.find(|h| gives(h) && h.mode == Mode::Exclusive) {
                Some(holder) => {
                    (holder.who, holder.confirmed, holder.secret) = (who, false, None);
                }
                None => {
                    self.tally.spent += 1;
                    return Answer::Spent;
                }
            }
            self.givers.push(giver);
            self.tally.taken_up += 1;
        }
        if self.holders.iter().any(|h| h.who == who && h.mode != mode) {
            self.tally.late += 1;
            return Answer::Late;
        }
        let second_copy = self.has_confirmed(who);
        let handed = self.holds(who) && !second_copy;
        if !self.holds(who) {
            let turn = self.is_shared_or_free() && self.hand_on(Some(who));
            self.tally.kept_back_by_a_waiter += u64::from(!turn && self.fits(mode));
            if !turn || !self.fits(mode) {
                if queues {
                    let place = Waiter {
                        who,
                        mode,
                        alive: true,
                        hears: true,
                    };
                    match self.line.iter_mut().find(|w| w.who == who) {
                        Some(old) => *old = place,
                        None => self.line.push(place),
                    }
                }
                return Answer::Busy;
            }
        }
        self.tally.second_copies += u64::from(second_copy);
        self.tally.hand_offs_confirmed += u64::from(handed);
        let others = self.holders.iter().any(|h| h.who != who);
        self.tally.granted_beside_others += u64::from(others);
        self.tally.granted_alone += u64::from(!others);
        let before = self.holders.iter().find(|h| h.who == who);
        let secret = before.and_then(|h| h.secret);
        self.holders.retain(|h| h.who != who);
        self.line.retain(|w| w.who != who);
        self.holders.push(Holder {
            who,
            mode,
            confirmed: true,
            secret,
        });
        Answer::Granted
    }

    fn downgrade(&mut self, who: Id) -> Answer {
        let mut holders = self.holders.iter_mut();
        let Some(holder) = holders.find(|h| h.who == who && h.confirmed) else {
            return Answer::Gone;
        };
        holder.mode = Mode::Shared;
        self.tally.downgraded += 1;
        self.hand_on(None);
        Answer::Extended
    }

    fn hand_over(&mut self, giver: Id) -> Answer {
        let mut holders = self.holders.iter_mut();
        let alone = |h: &&mut Holder| h.who == giver && h.confirmed && h.mode == Mode::Exclusive;
        let Some(holder) = holders.find(alone) else {
            return Answer::Gone;
        };
        holder.secret = Some(self.secrets.len());
        self.secrets.push(giver);
        Answer::Extended
    }

    /// Removes an attempt, and returns whether it held the lock.
    fn leave(&mut self, who: Id) -> bool {
        let held = self.holds(who);
        let waited = self.waits(who);
        self.holders.retain(|h| h.who != who);
        self.line.retain(|w| w.who != who);
        self.registered.retain(|waiter| *waiter != who);
        let free = self.holders.is_empty();
        if held || free || (waited && self.is_shared_or_free()) {
            let named = self.named_by(who);
            self.hand_on_naming(None, named);
        }
        held
    }

    fn record(&mut self, who: Id) -> Answer {
        if self.has_confirmed(who) {
            self.holders.clear();
            self.line.clear();
            self.recorded = Some(who);
        } else if self.recorded != Some(who) {
            self.tally.records_refused += 1;
            return Answer::AlreadyGone;
        }
        Answer::Released
    }

    fn perform(&mut self, step: &Step) -> Answer {
        match *step {
            Step::Fresh(mode, queues) => {
                self.attempts.push(Asked {
                    mode,
                    queues,
                    giver: None,
                });
                return self.attempt(self.attempts.len() - 1);
            }
            Step::TakeUp(giver) => {
                self.attempts.push(Asked {
                    mode: Mode::Exclusive,
                    queues: true,
                    giver: Some((giver, self.secrets.iter().rposition(|it| *it == giver))),
                });
                return self.attempt(self.attempts.len() - 1);
            }
            Step::HandOver(giver) => return self.hand_over(giver),
            Step::Attempt(who) => return self.attempt(who),
            Step::Downgrade(who) => return self.downgrade(who),
            Step::Record(who) => return self.record(who),
            Step::Forget => return Answer::Found(self.recorded.take().is_some()),
            Step::Renew(who) => {
                let held = self.has_confirmed(who);
                self.tally.renewals_refused += u64::from(!held);
                return if held { Answer::Extended } else { Answer::Gone };
            }
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
                let held = !self.holders.is_empty();
                self.holders.clear();
                self.hand_on(None);
                return Answer::Found(held);
            }
            Step::LeaseEnds(who) => {
                self.holders.retain(|h| h.who != who);
                self.tally.leases_ended += 1;
            }
            Step::PlaceEnds(who) => self.waiter(who, |w| w.alive = false),
            Step::GoesDeaf(who) => self.waiter(who, |w| w.hears = false),
        }
        Answer::Nothing
    }

    fn waiter(&mut self, who: Id, change: impl Fn(&mut Waiter)) {
        self.line
            .iter_mut()
            .filter(|w| w.who == who)
            .for_each(change);
    }
}

impl<F: Family, P: Place> ReferenceStateMachine for Model<F, P> {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::new()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        // The newest attempts, and all holders and waiters.
        let all = state.attempts.len();
        let mut speakers: Vec<Id> = (all.saturating_sub(3)..all).collect();
        speakers.extend(state.line.iter().map(|w| w.who));
        speakers.extend(state.holders.iter().flat_map(|h| [h.who; 2]));
        let any = any_step::<F>(speakers);
        match state.holders.iter().find(|h| h.secret.is_some()) {
            Some(giver) => prop_oneof![6 => any, 1 => Just(Step::TakeUp(giver.who))].boxed(),
            None => any,
        }
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        model.passed_to = None;
        model.answer = model.perform(step);
        if !P::IS_LAZY {
            model.hand_on(None);
        }
        model
    }

    fn preconditions(model: &Self, step: &Step) -> bool {
        let exists = |who: Id| who < model.attempts.len();
        let alone = |who: Id| exists(who) && model.attempts[who].mode == Mode::Exclusive;
        match *step {
            Step::Fresh(..) => model.attempts.len() < 14,
            // The previous holder must once have held the lock alone, even if it has lost it.
            Step::TakeUp(giver) => model.attempts.len() < 14 && alone(giver) && !F::PERMITS,
            Step::HandOver(who) | Step::Downgrade(who) => alone(who) && !F::PERMITS,
            Step::LeaseEnds(who) => model.has_confirmed(who) || (P::IS_LAZY && model.holds(who)),
            // A waiter with a direct hand-off loses its position when its lease ends.
            Step::PlaceEnds(who) => P::IS_LAZY && exists(who) && !model.holds(who),
            Step::GoesDeaf(who) => P::IS_LAZY && exists(who),
            // A manager only releases locks that were granted.
            Step::Release(who) => exists(who) && (P::IS_LAZY || !model.waits(who)),
            // In process, no duplicate requests arrive late. A server identifies the lease of a secret by its owner and
            // token, so an attempt that has left is not repeated.
            Step::Attempt(who) => {
                let comes_again = model.secrets.contains(&who) && !model.holds(who);
                exists(who) && !comes_again && (P::IS_LAZY || !model.givers.contains(&who))
            }
            Step::Renew(who) | Step::Cleanup(who) => exists(who),
            // After a hand-off, an attempt confirms before it records.
            Step::Record(who) => exists(who) && (model.has_confirmed(who) || !model.holds(who)),
            Step::ForceRelease | Step::Forget => true,
        }
    }
}
