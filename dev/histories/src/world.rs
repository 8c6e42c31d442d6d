//! A backend under test, and its history.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::poll;
use leasehold::backend::{
    Applied, Attempt, AttemptAnswer, Backend, Claim, Handover, HandoverSecret, Mode, Outcome,
    Refusal, ReleaseAnswer, RenewAnswer,
};
use leasehold::{FencingToken, Key};

use crate::place::Place;
use crate::step::{Answer, Id, Seen, Step};
use crate::tokens::Tokens;

/// Longer than a history. Leases end by steps instead.
const TTL: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(crate) struct World<P> {
    key: Key,
    begun: Instant,
    /// When the first lease ended.
    expired: Option<Instant>,
    /// Whether the attempts end with a recorded outcome.
    once: bool,
    attempts: Vec<Attempt>,
    /// The last granted token of each attempt.
    granted: Vec<Option<FencingToken>>,
    /// The last token of each attempt that has left.
    former: Vec<Option<FencingToken>>,
    tokens: Tokens,
    /// The holders whose lock was downgraded.
    downgraded: HashSet<Id>,
    /// The last handover of each holder.
    handovers: HashMap<Id, Handover>,
    waits: Waits,
    place: std::marker::PhantomData<P>,
}

/// The waiters, each with the future in which it waits. Only polled waiters get a direct hand-off.
#[derive(Default)]
struct Waits(HashMap<Id, Wait>);

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<P: Place> World<P> {
    pub(crate) fn new(once: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        Self {
            key: Key::new("", &name).unwrap(),
            begun: Instant::now(),
            expired: None,
            once,
            attempts: Vec::new(),
            granted: Vec::new(),
            former: Vec::new(),
            tokens: Tokens::default(),
            downgraded: HashSet::new(),
            handovers: HashMap::new(),
            waits: Waits::default(),
            place: std::marker::PhantomData,
        }
    }

    /// Returns whether leases may have ended by themselves.
    pub(crate) fn is_late(&self) -> bool {
        let expired = self.expired.map_or(Duration::ZERO, |at| at.elapsed());
        self.begun.elapsed() > P::LIMIT || expired > P::LIMIT_AFTER_EXPIRY
    }

    /// Compares a result with the result of the model.
    pub(crate) fn check<T: PartialEq + Debug>(&self, ours: &T, models: &T, what: &str) {
        if !self.is_late() {
            assert_eq!(ours, models, "{what}");
        }
    }

    pub(crate) fn carry_out(&mut self, step: &Step) -> Answer {
        match *step {
            Step::Fresh(mode, queues) => {
                let attempt = Attempt::new(self.key.clone(), TTL, queues)
                    .in_mode(mode)
                    .once(self.once)
                    .renewed(true);
                return self.first_attempt(attempt);
            }
            Step::HandOver(giver) => {
                let (claim, secret) = (self.claim(giver), HandoverSecret::random());
                let told = renewed(P::run(P::backend(giver).hand_over(&claim, secret)).unwrap());
                if told == Answer::Extended {
                    let handover = Handover::new(&claim, secret);
                    self.handovers.insert(giver, handover);
                }
                return told;
            }
            Step::TakeUp(giver) => {
                let made = self.handovers.get(&giver).cloned();
                let forged = || Handover::new(&self.claim(giver), HandoverSecret::random());
                let handover = Box::new(made.unwrap_or_else(forged));
                let attempt = Attempt::new(self.key.clone(), TTL, true);
                return self.first_attempt(attempt.taking_up(Some(handover)));
            }
            Step::Attempt(who) => return self.attempt(who),
            Step::Renew(who) => {
                let answers = P::run(P::backend(who).renew(&[self.claim(who)]));
                return renewed(*answers[0].as_ref().unwrap());
            }
            Step::Downgrade(who) => {
                let answer = renewed(P::run(P::backend(who).downgrade(&self.claim(who))).unwrap());
                if answer == Answer::Extended {
                    self.downgraded.insert(who);
                }
                return answer;
            }
            Step::Release(who) => {
                self.gives_up(who);
                self.waits.0.remove(&who);
                return released(P::run(P::backend(who).release(&self.claim(who))).unwrap());
            }
            Step::Record(who) => {
                let mut claim = self.claim(who);
                // A late record has the token of the former grant.
                claim.token = self.granted[who]
                    .or(self.former[who])
                    .unwrap_or(claim.token);
                let outcome = Outcome::new(claim.token, false, who.to_string().into());
                self.gives_up(who);
                let record = P::backend(who).record(&claim, &outcome, TTL);
                return released(P::run(record).unwrap());
            }
            Step::Forget => {
                return Answer::Found(P::run(P::backend(0).forget(&self.key)).unwrap());
            }
            Step::Cleanup(who) => {
                self.gives_up(who);
                self.waits.0.remove(&who);
                P::run(P::backend(who).cleanup(&self.attempts[who])).unwrap();
            }
            Step::ForceRelease => {
                (0..self.attempts.len()).for_each(|who| self.gives_up(who));
                return Answer::Found(P::run(P::backend(0).force_release(&self.key)).unwrap());
            }
            Step::LeaseEnds(who) => {
                self.expired.get_or_insert_with(Instant::now);
                P::end_lease(&self.claim(who));
                self.gives_up(who);
            }
            Step::PlaceEnds(who) => P::end_place(&self.key, self.attempts[who].owner),
            Step::GoesDeaf(who) => P::deafen(&self.key, self.attempts[who].owner),
        }
        Answer::Nothing
    }

    pub(crate) fn look(&self) -> Seen {
        let seen = P::run(P::backend(0).inspect(&self.key)).unwrap();
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
        for (who, attempt) in self.attempts.iter().enumerate() {
            P::run(P::backend(who).cleanup(attempt)).unwrap();
        }
        let seen = P::run(P::backend(0).inspect(&self.key)).unwrap();
        assert!(seen.is_free(), "{seen:?}");
    }

    fn first_attempt(&mut self, attempt: Attempt) -> Answer {
        self.attempts.push(attempt);
        self.granted.push(None);
        self.former.push(None);
        self.attempt(self.attempts.len() - 1)
    }

    pub(crate) fn attempt(&mut self, who: Id) -> Answer {
        let answer = self.ask_for_it(who);
        self.waits.0.remove(&who);
        if P::IS_LAZY && answer == Answer::Busy && self.attempts[who].queue {
            let attempt = self.attempts[who].clone();
            let mut wait: Wait = Box::pin(async move {
                // The wait ends at each notification. Histories do not check notifications.
                loop {
                    P::backend(who).wait(&attempt).await.unwrap();
                }
            });
            P::run(async { assert!(poll!(&mut wait).is_pending()) });
            self.waits.0.insert(who, wait);
        }
        answer
    }

    fn ask_for_it(&mut self, who: Id) -> Answer {
        match P::run(P::backend(who).attempt(&self.attempts[who])) {
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
            Ok(AttemptAnswer::Recorded(outcome)) => {
                Answer::Recorded(String::from_utf8(outcome.bytes).unwrap().parse().unwrap())
            }
            Ok(other) => panic!("{other:?}"),
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

fn released(answer: ReleaseAnswer) -> Answer {
    match answer {
        ReleaseAnswer::Released => Answer::Released,
        ReleaseAnswer::AlreadyGone => Answer::AlreadyGone,
    }
}

fn renewed(answer: RenewAnswer) -> Answer {
    match answer {
        RenewAnswer::Extended { .. } => Answer::Extended,
        RenewAnswer::Gone => Answer::Gone,
    }
}
