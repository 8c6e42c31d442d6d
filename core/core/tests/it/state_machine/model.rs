//! The lock as a simple specification: the holder and the waiters of a key, and when each of them expires.

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::state_machine::step::{
    ACTORS, Answer, Ask, BURST, Claimed, Draw, Id, KEYS, Ms, Seen, Step, any_step,
};
use crate::state_machine::tally::Tally;

// The next three constants repeat private constants of the backend.

/// How long a waiter keeps its position without repeating its attempt.
pub(crate) const PLACE: Ms = 6_000;

/// How long a waiter has for the confirmation of a hand-off.
pub(crate) const HAND_OFF: Ms = 2_000;

/// The interval at which waiters repeat their attempts.
const REFRESH: Ms = 2_000;

#[derive(Debug, Clone, Copy)]
struct Holder {
    who: Id,
    until: Ms,
    /// `None` until the hand-off is confirmed.
    token: Option<Draw>,
}

#[derive(Debug, Clone, Copy)]
struct Waiter {
    who: Id,
    until: Ms,
}

/// The state of one key.
#[derive(Debug, Clone, Default)]
struct Line {
    holder: Option<Holder>,
    waiters: Vec<Waiter>,
}

impl Line {
    fn hand_on(&mut self, now: Ms) {
        self.holder = None;
        if !self.waiters.is_empty() {
            self.holder = Some(Holder {
                who: self.waiters.remove(0).who,
                until: now + HAND_OFF,
                token: None,
            });
        }
    }

    /// Ends the holder's lease, and grants the lock to the next waiter. A waiter with an unconfirmed hand-off stays
    /// first in the queue.
    fn take_away(&mut self, now: Ms) {
        if let Some(Holder {
            who, token: None, ..
        }) = self.holder
        {
            self.waiters.insert(0, Waiter { who, until: now });
        }
        self.hand_on(now);
    }

    fn is_held_by(&self, who: Id) -> bool {
        self.holder.is_some_and(|h| h.who == who)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    now: Ms,
    lines: [Line; KEYS],
    pub(crate) attempts: Vec<Ask>,
    /// The current attempt of each actor.
    pub(crate) actors: [Id; ACTORS],
    /// The actor whose attempt died last.
    abandoned: Option<Id>,
    /// The attempt that got each token.
    drawn_by: Vec<Id>,
    /// The answers to the last step.
    pub(crate) answers: Vec<Answer>,
    /// The keys that the last step touched. Expired leases of other keys are only noticed when a step touches them.
    pub(crate) touched: [bool; KEYS],
    pub(crate) tally: Tally,
}

impl Model {
    fn new() -> Self {
        let ask = |actor| Ask {
            key: usize::from(actor == 0),
            ttl: 30_000,
            queue: true,
        };
        Self {
            now: 0,
            lines: Default::default(),
            attempts: (0..ACTORS).map(ask).collect(),
            actors: std::array::from_fn(|actor| actor),
            abandoned: None,
            drawn_by: Vec::new(),
            answers: Vec::new(),
            touched: [false; KEYS],
            tally: Tally::NOTHING,
        }
    }

    pub(crate) fn seen(&self, key: usize) -> Seen<Draw> {
        let Line { holder, waiters } = &self.lines[key];
        Seen {
            owner: holder.map(|h| h.who),
            token: holder.and_then(|h| h.token),
            expires_in: holder.map(|h| h.until - self.now),
            waiting: waiters.len(),
        }
    }

    /// Returns the state of a key, after removing everything that has expired.
    fn line(&mut self, key: usize) -> &mut Line {
        self.touched[key] = true;
        let (line, now) = (&mut self.lines[key], self.now);
        line.waiters.retain(|w| w.until > now);
        if let Some(over) = line.holder.take_if(|h| h.until <= now) {
            self.tally.hand_offs_lapsed += u64::from(over.token.is_none());
            line.hand_on(now);
        }
        line
    }

    fn make(&mut self, ask: Ask) -> Id {
        self.attempts.push(ask);
        self.attempts.len() - 1
    }

    fn attempt(&mut self, who: Id) -> Answer {
        let (Ask { key, ttl, queue }, now) = (self.attempts[who], self.now);
        let line = self.line(key);
        let token = match line.holder {
            Some(holder) if holder.who != who => return Self::wait(line, holder, who, queue, now),
            Some(Holder {
                token: Some(token), ..
            }) => token,
            handed_on => {
                self.tally.hand_offs_confirmed += u64::from(handed_on.is_some());
                self.tally.grants += u64::from(ttl > 0);
                self.drawn_by.push(who);
                self.drawn_by.len() - 1
            }
        };
        self.lines[key].holder = Some(Holder {
            who,
            until: now + ttl,
            token: Some(token),
        });
        Answer::Granted { token, lease: ttl }
    }

    fn wait(line: &mut Line, holder: Holder, who: Id, queue: bool, now: Ms) -> Answer {
        let until = now + PLACE;
        if queue {
            match line.waiters.iter_mut().find(|w| w.who == who) {
                Some(waiter) => waiter.until = until,
                None => line.waiters.push(Waiter { who, until }),
            }
        }
        // The next waiter retries when the lease ends. It does not if the hand-off to the holder is unconfirmed,
        // because the holder may still confirm.
        let next = holder.token.is_some() && line.waiters.first().is_some_and(|w| w.who == who);
        Answer::Busy {
            retry_after: match next && queue {
                true => REFRESH.min(holder.until - now),
                false => REFRESH,
            },
        }
    }

    fn renew(&mut self, claim: &Claimed) -> Answer {
        let (key, now) = (self.attempts[claim.owner].key, self.now);
        match &mut self.line(key).holder {
            Some(h) if h.who == claim.owner && h.token.is_some() && h.token == claim.token => {
                h.until = now + claim.ttl;
                Answer::Extended { lease: claim.ttl }
            }
            _ => Answer::Gone,
        }
    }

    fn release(&mut self, owner: Id) -> Answer {
        let (key, now) = (self.attempts[owner].key, self.now);
        let line = self.line(key);
        if !line.is_held_by(owner) {
            return Answer::AlreadyGone;
        }
        line.take_away(now);
        Answer::Released
    }

    fn cleanup(&mut self, who: Id) -> Answer {
        let (key, now) = (self.attempts[who].key, self.now);
        let line = self.line(key);
        line.waiters.retain(|w| w.who != who);
        if line.is_held_by(who) {
            line.hand_on(now);
            self.tally.owners_cleaned_up += 1;
        }
        Answer::CleanedUp
    }

    fn force_release(&mut self, key: usize) -> Answer {
        let now = self.now;
        let line = self.line(key);
        let held = line.holder.is_some();
        line.take_away(now);
        self.tally.forced_releases += u64::from(held);
        Answer::Forced(held)
    }

    /// Returns the attempts that can take a step: those of the actors, one that is considered dead, and the holders.
    fn speakers(&self) -> Vec<Id> {
        let holders = self.lines.iter().filter_map(|l| l.holder).map(|h| h.who);
        self.actors
            .into_iter()
            .chain(self.abandoned)
            .chain(holders)
            .collect()
    }

    /// Returns claims with correct tokens, wrong tokens and wrong owners.
    fn claims(&self) -> Vec<(Id, Option<Draw>)> {
        let mut claims = vec![(self.actors[0], None)];
        for Holder { who, token, .. } in self.lines.iter().filter_map(|l| l.holder) {
            claims.extend([(who, token), (who, token), (who, token), (who, None)]);
            claims.extend([(self.actors[1], token), (self.actors[2], token)]);
        }
        let past = self.drawn_by.iter().enumerate().rev().take(4);
        claims.extend(past.map(|(draw, who)| (*who, Some(draw))));
        claims
    }

    fn knows(&self, claim: &Claimed) -> bool {
        let drawn = self.drawn_by.len();
        claim.owner < self.attempts.len() && claim.token.is_none_or(|draw| draw < drawn)
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::new()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        any_step(state.speakers(), state.claims())
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        model.touched = [false; KEYS];
        model.answers = match step {
            Step::Fresh { actor, ask } => {
                let fresh = model.make(*ask);
                let old = std::mem::replace(&mut model.actors[*actor], fresh);
                model.abandoned = Some(old);
                vec![model.attempt(fresh)]
            }
            Step::Attempt(who) => vec![model.attempt(*who)],
            Step::Renew(claims) => claims.iter().map(|c| model.renew(c)).collect(),
            Step::Release(claim) => vec![model.release(claim.owner)],
            Step::Cleanup(who) => vec![model.cleanup(*who)],
            Step::ForceRelease(key) => vec![model.force_release(*key)],
            Step::Inspect(key) => {
                model.line(*key);
                vec![]
            }
            Step::Advance(ms) => {
                model.now += ms;
                vec![]
            }
            Step::Burst(key) => (0..BURST)
                .map(|_| {
                    let brief = model.make(Ask {
                        key: *key,
                        ttl: 0,
                        queue: false,
                    });
                    model.attempt(brief)
                })
                .collect(),
        };
        // A lease with zero length expires immediately, and the next access to the key notices it.
        for key in 0..KEYS {
            if model.touched[key] {
                model.line(key);
            }
        }
        model
    }

    /// Skips steps that are not possible in a shortened history.
    fn preconditions(state: &Self, step: &Step) -> bool {
        match step {
            Step::Attempt(who) | Step::Cleanup(who) => *who < state.attempts.len(),
            Step::Renew(claims) => claims.iter().all(|claim| state.knows(claim)),
            Step::Release(claim) => state.knows(claim),
            _ => true,
        }
    }
}
