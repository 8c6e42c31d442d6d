//! A batch has the same effect as its requests one by one.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim, ReleaseAnswer};
use leasehold::{FencingToken, Key};
use leasehold_testkit::depth;
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::time::timeout;

use crate::single::batched_requests::{CALLS_OF_A_CROWD, beside_a_crowd, nobody};
use crate::single::server::Server;

const TTL: Duration = Duration::from_secs(30);
/// The number of rounds in `cargo test`.
const ROUNDS: u64 = 30;
const KEYS: usize = 4;

/// Slower rounds are not compared, because a direct hand-off expires after two seconds.
const SWIFT: Duration = Duration::from_secs(1);

/// A request, with the number of its attempt.
#[derive(Debug, Clone, Copy)]
enum Request {
    Take(usize),
    Release(usize),
    Cleanup(usize),
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Granted,
    /// Without the time to retry, which differs if a waiter gets the lock by a direct hand-off during its request.
    Busy,
    Released,
    Gone,
    CleanedUp,
}

/// The state of a lock: the number of its holder, and the number of waiters.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    holder: Option<usize>,
    waiting: usize,
}

/// One of two equal worlds.
struct World {
    name: String,
    backend: Redis,
    attempts: Vec<Attempt>,
    /// A process for each attempt. One by one, no attempt waits because another attempt of its process holds the lock.
    processes: Vec<Redis>,
    /// The newest token of each key.
    tokens: Vec<Option<FencingToken>>,
}

/// A random story, which is the same in both worlds.
struct Story {
    /// The key of each attempt, and whether it waits.
    attempts: Vec<(usize, bool)>,
    before: Vec<Request>,
    /// Keys whose holder vanishes, as if its lease had expired.
    vanishing: Vec<usize>,
    at_once: Vec<Request>,
}

impl Story {
    fn of(seed: u64) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut story = Self {
            attempts: Vec::new(),
            before: Vec::new(),
            vanishing: Vec::new(),
            at_once: Vec::new(),
        };
        for key in 0..KEYS {
            let own = story.attempts.len();
            let count = chance.usize(2..6);
            for _ in 0..count {
                story.attempts.push((key, chance.bool()));
            }
            // The key is new, was used before, is held, or is held and has waiters.
            let taken = chance.usize(0..count);
            for number in own..own + taken {
                story.before.push(Request::Take(number));
            }
            match chance.u8(0..4) {
                0 | 1 if taken > 0 => story.before.push(Request::Release(own)),
                2 => story.vanishing.push(key),
                _ => {}
            }
            for number in own..own + count {
                story.at_once.push(match chance.u8(0..4) {
                    0 => Request::Release(number),
                    1 => Request::Cleanup(number),
                    _ => Request::Take(number),
                });
            }
        }
        chance.shuffle(&mut story.at_once);
        // An attempt that arrives after the release has granted the lock is parked, and sent later.
        let comes_later = |it: &Request| !matches!(it, Request::Take(_));
        story.at_once.sort_by_key(comes_later);
        story
    }
}

impl World {
    async fn new(server: &Server, name: &str, story: &Story) -> Self {
        let attempt = |(key, queue): &(usize, bool)| {
            let key = Key::new("lock:", &format!("{name}:{key}")).unwrap();
            Attempt::new(key, TTL, *queue)
        };
        let backend = Redis::connect(&server.url()).await.unwrap();
        // After this request the backend knows the server's clock, and does not query it again.
        backend.attempt(&nobody()).await.unwrap();
        let attempts: Vec<_> = story.attempts.iter().map(attempt).collect();
        let mut processes = Vec::new();
        for _ in &attempts {
            processes.push(Redis::connect(&server.url()).await.unwrap());
        }
        Self {
            name: name.to_owned(),
            backend,
            attempts,
            processes,
            tokens: vec![None; KEYS],
        }
    }

    async fn vanish(&self, server: &Server, keys: &[usize]) {
        let mut delete = redis::cmd("DEL");
        for key in keys {
            delete.arg(format!("lock:{}:{key}", self.name));
        }
        if !keys.is_empty() {
            let mut raw = server.raw().await;
            let () = delete.query_async(&mut raw).await.unwrap();
        }
    }

    async fn carry_out(&self, backend: &Redis, request: Request) -> (Answer, Option<FencingToken>) {
        match request {
            Request::Take(number) => {
                let attempt = &self.attempts[number];
                match backend.attempt(attempt).await.unwrap() {
                    AttemptAnswer::Granted { token, lease } => {
                        assert_eq!(lease, TTL);
                        (Answer::Granted, Some(token))
                    }
                    AttemptAnswer::Busy { .. } => (Answer::Busy, None),
                    other => panic!("{other:?}"),
                }
            }
            Request::Release(number) => {
                let released = backend.release(&self.claim(number)).await;
                match released.unwrap() {
                    ReleaseAnswer::Released => (Answer::Released, None),
                    ReleaseAnswer::AlreadyGone => (Answer::Gone, None),
                }
            }
            Request::Cleanup(number) => {
                let cleaned_up = backend.cleanup(&self.attempts[number]).await;
                cleaned_up.unwrap();
                (Answer::CleanedUp, None)
            }
        }
    }

    fn claim(&self, number: usize) -> Claim {
        self.attempts[number].claim(FencingToken::try_from(1).unwrap())
    }

    async fn one_by_one(&self, requests: &[Request]) -> Vec<(Answer, Option<FencingToken>)> {
        let mut answers = Vec::new();
        for request in requests {
            let (Request::Take(number) | Request::Release(number) | Request::Cleanup(number)) =
                *request;
            let process = &self.processes[number];
            answers.push(self.carry_out(process, *request).await);
        }
        answers
    }

    async fn at_once(&self, requests: &[Request]) -> Vec<(Answer, Option<FencingToken>)> {
        let together = join_all(requests.iter().map(|it| self.carry_out(&self.backend, *it)));
        beside_a_crowd(&self.backend, together).await
    }

    /// Checks that tokens only grow, and that a duplicate request gets the same token.
    fn grow(
        &mut self,
        story: &Story,
        requests: &[Request],
        answers: &[(Answer, Option<FencingToken>)],
    ) {
        for (request, (_, token)) in requests.iter().zip(answers) {
            if let (Request::Take(number), Some(token)) = (request, token) {
                let newest = &mut self.tokens[story.attempts[*number].0];
                assert!(newest.is_none_or(|newest| newest <= *token));
                *newest = Some(*token);
            }
        }
    }

    async fn seen(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let owners: Vec<_> = self
            .attempts
            .iter()
            .map(|it| it.owner.to_string())
            .collect();
        let mut keys: Vec<_> = self.attempts.iter().map(|it| &it.key).collect();
        keys.dedup();
        for key in keys {
            let state = self.backend.inspect(key).await.unwrap();
            let number = |owner| owners.iter().position(|it| *it == owner).unwrap();
            let holder = state.owner.map(number);
            seen.push(Seen {
                holder,
                waiting: state.waiting,
            });
        }
        seen
    }
}

/// Returns the order in which the server executes a batch.
fn in_turn(requests: &[Request]) -> Vec<usize> {
    let mut turns: Vec<_> = (0..requests.len()).collect();
    turns.sort_by_key(|at| matches!(requests[*at], Request::Take(_)));
    turns
}

#[tokio::test]
async fn a_batch_has_the_same_effect_as_its_requests_one_by_one() {
    let server = Server::start().await;
    let mut compared = 0;
    let rounds = depth::scaled(ROUNDS);
    for seed in depth::seed().. {
        let done = seed - depth::seed();
        // A busy machine needs more rounds, because slow ones are not compared.
        if done >= rounds * 20 || (done >= rounds && compared > rounds / 2) {
            break;
        }
        let story = Story::of(seed);
        let mut alone = World::new(&server, &format!("alone:{seed}"), &story).await;
        let mut together = World::new(&server, &format!("together:{seed}"), &story).await;
        let began = Instant::now();
        for world in [&mut alone, &mut together] {
            let answers = world.one_by_one(&story.before).await;
            world.grow(&story, &story.before, &answers);
            world.vanish(&server, &story.vanishing).await;
        }
        let turns = in_turn(&story.at_once);
        let in_turn: Vec<_> = turns.iter().map(|at| story.at_once[*at]).collect();
        let expected = alone.one_by_one(&in_turn).await;
        let calls = server.scripts().await;
        let mut got: Vec<_> = together
            .at_once(&story.at_once)
            .await
            .into_iter()
            .map(Some)
            .collect();
        let calls = server.scripts().await - calls;
        assert_eq!(calls, CALLS_OF_A_CROWD + 1, "seed {seed}");
        let got: Vec<_> = turns.iter().map(|at| got[*at].take().unwrap()).collect();
        alone.grow(&story, &in_turn, &expected);
        together.grow(&story, &in_turn, &got);
        let (alone, together) = (alone.seen().await, together.seen().await);
        if began.elapsed() > SWIFT {
            continue;
        }
        compared += 1;
        for ((expected, got), request) in expected.iter().zip(&got).zip(&in_turn) {
            assert_eq!(got.0, expected.0, "seed {seed}: {request:?}");
        }
        assert_eq!(together, alone, "seed {seed}");
    }
    assert!(compared > rounds / 2, "{compared} rounds were swift enough");
}

#[tokio::test]
async fn an_attempt_cleaned_up_in_the_same_batch_acquires_nothing() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let backend = Redis::connect(&server.inner().url_at(proxy.port()))
        .await
        .unwrap();
    let attempt = |name| Attempt::new(Key::new("lock:", name).unwrap(), TTL, false);
    // Requests for a key that was used before are sent in a batch.
    let before = attempt("k");
    backend.attempt(&before).await.unwrap();
    backend.cleanup(&before).await.unwrap();
    let given_up = attempt("k");
    proxy.hold_requests(Which::mentioning("lock:k").times(1));
    let late = timeout(Duration::from_millis(100), backend.attempt(&given_up)).await;
    assert!(late.is_err(), "a copy is under way");
    proxy.cut();
    while backend.inspect(&given_up.key).await.is_err() {}
    let others = ["a", "b"].map(attempt);
    let all = async {
        tokio::join!(
            backend.attempt(&given_up),
            backend.cleanup(&given_up),
            backend.attempt(&others[0]),
            backend.attempt(&others[1]),
        )
    };
    let (again, cleaned_up, ..) = beside_a_crowd(&backend, all).await;
    cleaned_up.unwrap();
    assert!(again.is_err(), "{again:?}");
    assert!(backend.inspect(&given_up.key).await.unwrap().is_free());
}
