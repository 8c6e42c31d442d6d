//! The backend under test, and its callers.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::backend::{
    Attempt, AttemptAnswer, Backend, Claim, InProcess, ReleaseAnswer, RenewAnswer,
};
use leasehold::{FencingToken, Key};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, advance};

use crate::state_machine::ledger::Ledger;
use crate::state_machine::model::Model;
use crate::state_machine::step::{Answer, Ask, Claimed, Draw, Id, KEYS, Ms, Seen, Step};

const DAY: Ms = 24 * 60 * 60 * 1000;

type Wait = Pin<Box<dyn Future<Output = ()>>>;

pub(crate) struct World {
    runtime: Runtime,
    started: Instant,
    backend: InProcess,
    attempts: Vec<Attempt>,
    tokens: Vec<FencingToken>,
    ledgers: [Ledger; KEYS],
    /// The waits that are running.
    waits: [HashMap<Id, Wait>; KEYS],
}

impl World {
    pub(crate) fn new(asks: &[Ask]) -> Self {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        let started = in_runtime(&runtime, Instant::now);
        let mut world = Self {
            runtime,
            started,
            backend: InProcess::new(),
            attempts: Vec::new(),
            tokens: Vec::new(),
            ledgers: Default::default(),
            waits: Default::default(),
        };
        for ask in asks {
            world.make(*ask);
        }
        world
    }

    /// Executes `step`, records the answers in the ledgers, and converts them for the model.
    pub(crate) fn carry_out(&mut self, step: Step, model: &Model) -> Vec<Answer> {
        match step {
            Step::Fresh { actor, ask } => {
                self.make(ask);
                self.attempt(&[model.actors[actor]])
            }
            Step::Attempt(who) => self.attempt(&[who]),
            Step::Renew(claims) => self.renew(&claims),
            Step::Release(claimed) => vec![self.release(&claimed)],
            Step::Cleanup(who) => vec![self.cleanup(who)],
            Step::ForceRelease(key) => vec![self.force_release(key)],
            Step::Inspect(key) => {
                self.at_once(self.backend.inspect(&name(key))).unwrap();
                vec![]
            }
            Step::Advance(ms) => {
                self.runtime.block_on(advance(Duration::from_millis(ms)));
                vec![]
            }
            Step::Burst(_) => {
                let first = self.attempts.len();
                for ask in &model.attempts[first..] {
                    self.make(*ask);
                }
                let all: Vec<Id> = (first..self.attempts.len()).collect();
                self.attempt(&all)
            }
        }
    }

    /// Polls all waiters of a key, and then inspects the key. This order matters, because an inspection can hand off
    /// the lock.
    pub(crate) fn look(&mut self, key: usize) -> Seen<Draw> {
        let now = self.now();
        let waits = self.poll_waits(key, now);
        let shown = self.at_once(self.backend.inspect(&name(key))).unwrap();
        let id_of = |owner: String| {
            let is_owner = |a: &Attempt| a.owner.to_string() == owner;
            self.attempts.iter().rposition(is_owner).unwrap()
        };
        let seen = Seen {
            owner: shown.owner.map(id_of),
            token: shown.token,
            expires_in: shown.expires_in.map(ms),
            waiting: shown.waiting,
        };
        let ledger = &mut self.ledgers[key];
        let handed = ledger.seen(seen, now);
        for (who, is_woken) in waits {
            if handed == Some(who) {
                assert!(is_woken, "P5: {who} was handed the lock, and sleeps");
            } else if !ledger.is_handed_to(who) {
                assert!(!is_woken, "P5: {who} was woken for nothing");
            }
        }
        Seen {
            owner: seen.owner,
            token: seen.token.map(|token| self.draw(token)),
            expires_in: seen.expires_in,
            waiting: seen.waiting,
        }
    }

    pub(crate) fn check_that_silence_frees_all(&mut self) {
        self.runtime.block_on(advance(Duration::from_millis(DAY)));
        for key in 0..KEYS {
            let free = self.at_once(self.backend.inspect(&name(key))).unwrap();
            assert!(free.is_free(), "a day later: {free:?}");
            let (ttl, queue) = (10, false);
            let who = self.make(Ask { key, ttl, queue });
            let answer = self.attempt(&[who]);
            assert!(matches!(answer[..], [Answer::Granted { .. }]), "{answer:?}");
        }
    }

    fn make(&mut self, ask: Ask) -> Id {
        let ttl = Duration::from_millis(ask.ttl);
        self.attempts
            .push(Attempt::new(name(ask.key), ttl, ask.queue));
        self.attempts.len() - 1
    }

    /// Sends the requests one after the other without a pause.
    fn attempt(&mut self, all: &[Id]) -> Vec<Answer> {
        let answers: Vec<_> = {
            let _entered = self.runtime.enter();
            let requests = all
                .iter()
                .map(|who| self.backend.attempt(&self.attempts[*who]));
            let requests: Vec<_> = requests.collect();
            requests.into_iter().map(FutureExt::now_or_never).collect()
        };
        let now = self.now();
        let mut seen = Vec::new();
        for (who, answer) in all.iter().zip(answers) {
            let key = index(&self.attempts[*who].key);
            // A waiter does not wait while it repeats its attempt.
            self.waits[key].remove(who);
            seen.push(match answer.expect("an answer at once").unwrap() {
                AttemptAnswer::Granted { token, lease } => {
                    let lease = ms(lease);
                    self.ledgers[key].granted(*who, token, lease, now);
                    let token = self.draw(token);
                    Answer::Granted { token, lease }
                }
                AttemptAnswer::Busy { retry_after } => {
                    let (queue, retry_after) = (self.attempts[*who].queue, ms(retry_after));
                    self.ledgers[key].busy(*who, queue, retry_after, now);
                    Answer::Busy { retry_after }
                }
                other => panic!("{other:?}"),
            });
        }
        seen
    }

    fn renew(&mut self, claims: &[Claimed]) -> Vec<Answer> {
        let batch: Vec<Claim> = claims.iter().map(|c| self.claim(c)).collect();
        let answers = self.at_once(self.backend.renew(&batch));
        assert_eq!(answers.len(), batch.len(), "an answer per claim");
        let now = self.now();
        let mut seen = Vec::new();
        for ((claimed, claim), answer) in claims.iter().zip(&batch).zip(answers) {
            let ledger = &mut self.ledgers[index(&claim.key)];
            seen.push(match answer.unwrap() {
                RenewAnswer::Extended { lease } => {
                    let lease = ms(lease);
                    ledger.extended(claimed.owner, claim.token, lease, now);
                    Answer::Extended { lease }
                }
                RenewAnswer::Gone => {
                    ledger.gone(claimed.owner, claim.token, now);
                    Answer::Gone
                }
            });
        }
        seen
    }

    fn release(&mut self, claimed: &Claimed) -> Answer {
        let claim = self.claim(claimed);
        let answer = self.at_once(self.backend.release(&claim)).unwrap();
        let (now, ledger) = (self.now(), &mut self.ledgers[index(&claim.key)]);
        match answer {
            ReleaseAnswer::Released => {
                ledger.released(claimed.owner, now);
                Answer::Released
            }
            ReleaseAnswer::AlreadyGone => {
                ledger.already_gone(claimed.owner, now);
                Answer::AlreadyGone
            }
        }
    }

    fn cleanup(&mut self, who: Id) -> Answer {
        let attempt = &self.attempts[who];
        self.at_once(self.backend.cleanup(attempt)).unwrap();
        self.ledgers[index(&attempt.key)].cleaned_up(who);
        Answer::CleanedUp
    }

    fn force_release(&mut self, key: usize) -> Answer {
        let held = self
            .at_once(self.backend.force_release(&name(key)))
            .unwrap();
        let now = self.now();
        self.ledgers[key].forced(held, now);
        Answer::Forced(held)
    }

    /// Half of the waiters keep one wait until they repeat their attempt. The others begin a new wait each time, so the
    /// backend must store notifications for them.
    fn poll_waits(&mut self, key: usize, now: Ms) -> Vec<(Id, bool)> {
        let mut under_way = std::mem::take(&mut self.waits[key]);
        let mut woken = Vec::new();
        for who in self.ledgers[key].line(now) {
            let mut wait = under_way.remove(&who).unwrap_or_else(|| {
                let (backend, attempt) = (self.backend.clone(), self.attempts[who].clone());
                Box::pin(async move { backend.wait(&attempt).await.unwrap() })
            });
            let polled = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            woken.push((who, polled.is_ready()));
            if polled.is_pending() && who % 2 == 0 {
                self.waits[key].insert(who, wait);
            }
        }
        woken
    }

    fn claim(&self, claimed: &Claimed) -> Claim {
        let never_drawn = FencingToken::try_from(1).unwrap();
        let token = claimed.token.map_or(never_drawn, |draw| self.tokens[draw]);
        let mut claim = self.attempts[claimed.owner].claim(token);
        claim.ttl = Duration::from_millis(claimed.ttl);
        claim
    }

    fn draw(&mut self, token: FencingToken) -> Draw {
        let known = self.tokens.iter().rposition(|t| *t == token);
        known.unwrap_or_else(|| {
            self.tokens.push(token);
            self.tokens.len() - 1
        })
    }

    fn now(&self) -> Ms {
        in_runtime(&self.runtime, || ms(self.started.elapsed()))
    }

    /// Runs a request that must complete immediately. Only [`Backend::wait`] waits.
    fn at_once<T>(&self, request: impl Future<Output = T>) -> T {
        in_runtime(&self.runtime, || request.now_or_never()).expect("an answer at once")
    }
}

fn in_runtime<T>(runtime: &Runtime, work: impl FnOnce() -> T) -> T {
    let _entered = runtime.enter();
    work()
}

fn name(key: usize) -> Key {
    Key::new("", &key.to_string()).unwrap()
}

fn index(key: &Key) -> usize {
    key.name().parse().unwrap()
}

fn ms(duration: Duration) -> Ms {
    assert_eq!(duration.subsec_nanos() % 1_000_000, 0, "{duration:?}");
    u64::try_from(duration.as_millis()).unwrap()
}
