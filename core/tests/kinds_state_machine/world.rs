//! A backend, and what happened to it.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leasehold::backend::{
    Applied, Attempt, AttemptAnswer, Backend, Claim, Mode, Refusal, ReleaseAnswer, RenewAnswer,
};
use leasehold::{FencingToken, Key, OwnerId};

use crate::step::{Answer, Id, Seen, Step};
use crate::tokens::Tokens;

/// Longer than a history takes: what ends is ended by a step.
const TTL: Duration = Duration::from_secs(600);

/// Where locks are kept.
pub(crate) trait Place: Debug + Clone + Send + Sync + 'static {
    /// A lease that has ended is noticed by the next who asks for the lock, and not by itself.
    const IS_LAZY: bool;

    type Backend: Backend;

    fn backend() -> &'static Self::Backend;

    fn run<T>(request: impl Future<Output = T>) -> T;

    fn end_lease(claim: &Claim);

    fn end_place(key: &Key, owner: OwnerId);

    fn deafen(key: &Key, owner: OwnerId);
}

#[derive(Debug)]
pub(crate) struct World<P> {
    key: Key,
    attempts: Vec<Attempt>,
    /// The last that each was granted.
    granted: Vec<Option<FencingToken>>,
    /// The last that each had and gave up.
    former: Vec<Option<FencingToken>>,
    tokens: Tokens,
    /// Those who hold in another mode than they asked for.
    downgraded: HashSet<Id>,
    place: std::marker::PhantomData<P>,
}

impl<P: Place> World<P> {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        Self {
            key: Key::new("", &name).unwrap(),
            attempts: Vec::new(),
            granted: Vec::new(),
            former: Vec::new(),
            tokens: Tokens::default(),
            downgraded: HashSet::new(),
            place: std::marker::PhantomData,
        }
    }

    pub(crate) fn carry_out(&mut self, step: &Step) -> Answer {
        let backend = P::backend();
        match *step {
            Step::Fresh(mode, queues) => {
                let attempt = Attempt::new(self.key.clone(), TTL, queues).in_mode(mode);
                return self.first_attempt(attempt);
            }
            Step::TakeUp(giver) => {
                let giver = self.attempts[giver].owner;
                let attempt = Attempt::new(self.key.clone(), TTL, true);
                return self.first_attempt(attempt.taking_up_from(Some(giver)));
            }
            Step::Attempt(who) => return self.attempt(who),
            Step::Renew(who) => {
                let answers = P::run(backend.renew(&[self.claim(who)]));
                return renewed(*answers[0].as_ref().unwrap());
            }
            Step::Downgrade(who) => {
                let answer = renewed(P::run(backend.downgrade(&self.claim(who))).unwrap());
                if answer == Answer::Extended {
                    self.downgraded.insert(who);
                }
                return answer;
            }
            Step::Release(who) => {
                self.gives_up(who);
                return match P::run(backend.release(&self.claim(who))).unwrap() {
                    ReleaseAnswer::Released => Answer::Released,
                    ReleaseAnswer::AlreadyGone => Answer::AlreadyGone,
                };
            }
            Step::Cleanup(who) => {
                self.gives_up(who);
                P::run(backend.cleanup(&self.attempts[who])).unwrap();
            }
            Step::ForceRelease => {
                (0..self.attempts.len()).for_each(|who| self.gives_up(who));
                return Answer::Forced(P::run(backend.force_release(&self.key)).unwrap());
            }
            Step::LeaseEnds(who) => {
                P::end_lease(&self.claim(who));
                self.gives_up(who);
            }
            Step::PlaceEnds(who) => P::end_place(&self.key, self.attempts[who].owner),
            Step::GoesDeaf(who) => P::deafen(&self.key, self.attempts[who].owner),
        }
        Answer::Nothing
    }

    pub(crate) fn look(&self) -> Seen {
        let seen = P::run(P::backend().inspect(&self.key)).unwrap();
        let mut attempts = self.attempts.iter();
        let alone = seen.owner.map(|owner| {
            let found = attempts.position(|a| a.owner.to_string() == owner);
            found.unwrap()
        });
        Seen {
            alone,
            holders: seen.holders,
            waiting: seen.waiting,
        }
    }

    pub(crate) fn check_that_all_can_leave(&self) {
        for attempt in &self.attempts {
            P::run(P::backend().cleanup(attempt)).unwrap();
        }
        let seen = P::run(P::backend().inspect(&self.key)).unwrap();
        assert!(seen.is_free(), "{seen:?}");
    }

    fn first_attempt(&mut self, attempt: Attempt) -> Answer {
        self.attempts.push(attempt);
        self.granted.push(None);
        self.former.push(None);
        self.attempt(self.attempts.len() - 1)
    }

    fn attempt(&mut self, who: Id) -> Answer {
        match P::run(P::backend().attempt(&self.attempts[who])) {
            Err(error) => {
                assert_eq!(error.applied(), Applied::No, "{error}");
                Answer::Late
            }
            Ok(AttemptAnswer::Granted { token, .. }) => {
                self.downgraded.remove(&who);
                let mode = self.attempts[who].mode;
                match self.granted[who] {
                    Some(first) => self.tokens.repeated(mode, first, token),
                    None => self.tokens.granted(mode, self.former[who], token),
                }
                self.granted[who] = Some(token);
                Answer::Granted
            }
            Ok(AttemptAnswer::Busy { .. }) => Answer::Busy,
            Ok(AttemptAnswer::Refused(Refusal::HandoverSpent)) => Answer::Spent,
            Ok(AttemptAnswer::Refused(refusal)) => panic!("{refusal:?}"),
        }
    }

    fn gives_up(&mut self, who: Id) {
        let given_up = self.granted[who].take();
        self.former[who] = given_up.or(self.former[who]);
    }

    fn claim(&self, who: Id) -> Claim {
        let never_drawn = FencingToken::try_from(1).unwrap();
        let mut claim = self.attempts[who].claim(self.granted[who].unwrap_or(never_drawn));
        if self.downgraded.contains(&who) {
            claim.mode = Mode::Shared;
        }
        claim
    }
}

fn renewed(answer: RenewAnswer) -> Answer {
    match answer {
        RenewAnswer::Extended { .. } => Answer::Extended,
        RenewAnswer::Gone => Answer::Gone,
    }
}
