//! The scripts on a real server, and the observed state.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim, ReleaseAnswer, RenewAnswer};
use leasehold::{FencingToken, Key};
use leasehold_testkit::history::{Mode, Specification};
use leasehold_testkit::servers::RedisServer;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Pipeline, Value};
use tokio::runtime::Runtime;

use crate::state_machine::model::Model;
use crate::state_machine::step::{Answer, Draw, Holder, Id, PROCESSES, Seen, Step, process};

/// Longer than a history. Leases end by steps instead.
const TTL: Duration = Duration::from_secs(600);

/// A grant ends after 2 s if its waiter does not confirm it. A history that takes longer is not checked.
const LIMIT: Duration = Duration::from_millis(1_500);

const FOREIGN: &str = "foreign";

struct Server {
    runtime: Runtime,
    backends: [Redis; PROCESSES],
    raw: MultiplexedConnection,
    _server: RedisServer,
}

/// One server for all histories. Each history uses its own key.
static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (server, backends, raw) = runtime.block_on(async {
        let server = RedisServer::start().await.unwrap();
        let url = server.url();
        let backends = [Redis::connect(&url), Redis::connect(&url)];
        let [one, other] = backends.map(|connecting| async { connecting.await.unwrap() });
        let backends = [one.await, other.await];
        let client = redis::Client::open(server.url()).unwrap();
        // A busy machine may respond slowly, so the client waits for as long as it takes.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let raw = client.get_multiplexed_async_connection_with_config(&patient);
        let raw = raw.await.unwrap();
        (server, backends, raw)
    });
    Server {
        runtime,
        backends,
        raw,
        _server: server,
    }
});

/// Returns the backend of an attempt's process.
fn backend(who: Id) -> &'static Redis {
    &SERVER.backends[process(who)]
}

pub(crate) struct World {
    key: Key,
    begun: Instant,
    attempts: Vec<Attempt>,
    tokens: Vec<FencingToken>,
    lock: Specification<()>,
    /// The waiters, each with the future in which it waits. Only polled waiters get a direct hand-off.
    waits: HashMap<Id, Wait>,
}

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

impl World {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        Self {
            key: Key::new("", &name).unwrap(),
            begun: Instant::now(),
            attempts: Vec::new(),
            tokens: Vec::new(),
            lock: Specification::default(),
            waits: HashMap::new(),
        }
    }

    /// Returns whether grants may have ended by themselves.
    pub(crate) fn is_late(&self) -> bool {
        self.begun.elapsed() > LIMIT
    }

    pub(crate) fn carry_out(&mut self, step: &Step, model: &Model) -> Answer {
        match *step {
            Step::Fresh(queues) => {
                self.attempts
                    .push(Attempt::new(self.key.clone(), TTL, queues).renewed(true));
                return self.attempt(self.attempts.len() - 1);
            }
            Step::Attempt(who) => {
                assert_eq!(self.attempts[who].queue, model.queues(who));
                return self.attempt(who);
            }
            Step::Renew(who, draw) => return self.renew(who, draw),
            Step::Release(who) => {
                self.waits.remove(&who);
                let never_drawn = FencingToken::try_from(1).unwrap();
                let claim = self.attempts[who].claim(never_drawn);
                return match run(backend(who).release(&claim)).unwrap() {
                    ReleaseAnswer::Released => Answer::Released,
                    ReleaseAnswer::AlreadyGone => Answer::AlreadyGone,
                };
            }
            Step::Cleanup(who) => {
                self.waits.remove(&who);
                run(backend(who).cleanup(&self.attempts[who])).unwrap();
            }
            Step::ForceRelease => {
                return Answer::Forced(run(backend(0).force_release(&self.key)).unwrap());
            }
            Step::LockExpires => self.say("PEXPIRE", &[&self.lock(), "0"]),
            Step::PlaceExpires(who) => self.rewrite_place(who, |_ends, rest| format!("1 {rest}")),
            Step::GoesDeaf(who) => {
                self.rewrite_place(who, |ends, _rest| format!("{ends} x nobody"));
            }
            Step::ForeignSet => self.say("SET", &[&self.lock(), FOREIGN, "NX", "PX", "600000"]),
            Step::ForeignDel => {
                let holder: Option<String> = self.ask("GET", &[&self.lock()]);
                if holder.as_deref() == Some(FOREIGN) {
                    self.say("DEL", &[&self.lock()]);
                }
            }
            Step::CounterIsLost => self.say("DEL", &[&self.companion("fence")]),
        }
        Answer::Nothing
    }

    /// Reads the complete state without the library, and compares `inspect` with it.
    pub(crate) fn look(&mut self) -> Seen {
        let mut all = Pipeline::new();
        all.cmd("GET").arg(self.lock());
        all.cmd("GET").arg(self.companion("fence"));
        all.cmd("ZRANGE")
            .arg(self.companion("queue"))
            .arg(0)
            .arg(-1);
        let mut raw = SERVER.raw.clone();
        let both = async { tokio::join!(all.query_async(&mut raw), backend(0).inspect(&self.key)) };
        let (read, inspected) = run(both);
        let (holder, fence, line): (Option<String>, Option<String>, Vec<String>) = read.unwrap();
        let inspected = inspected.unwrap();
        let mut attempts = self.attempts.iter();
        let ours = attempts.find(|it| Some(it.owner.reveal()) == holder);
        let shown = ours.map(|it| it.owner.to_string());
        assert_eq!(inspected.owner, shown.or_else(|| holder.clone()));
        let fence = fence.map(|record| {
            let (token, drawer) = record.split_once(' ').unwrap();
            let token: FencingToken = token.parse().unwrap();
            let shown = (holder.as_deref() == Some(drawer)).then_some(token);
            assert_eq!(inspected.token, shown);
            // A token of a direct hand-off is first seen here.
            (self.draw(token), self.id(drawer))
        });
        Seen {
            holder: holder.map(|holder| match holder.as_str() {
                FOREIGN => Holder::Foreign,
                ours => Holder::Ours(self.id(ours)),
            }),
            fence,
            line: line.iter().map(|who| self.id(who)).collect(),
            waiting: inspected.waiting,
        }
    }

    pub(crate) fn check_that_all_can_leave(&mut self) {
        self.say("PEXPIRE", &[&self.lock(), "0"]);
        for (who, attempt) in self.attempts.iter().enumerate() {
            run(backend(who).cleanup(attempt)).unwrap();
        }
        assert!(run(backend(0).inspect(&self.key)).unwrap().is_free());
        let left: Vec<String> = self.ask("KEYS", &[&format!("*{}*", self.companion("[ql]"))]);
        assert!(left.is_empty(), "{left:?}");
        let last = self.attempts.len();
        self.attempts
            .push(Attempt::new(self.key.clone(), TTL, false));
        assert!(matches!(self.attempt(last), Answer::Granted(_)));
        self.say("DEL", &[&self.lock(), &self.companion("fence")]);
    }

    fn attempt(&mut self, who: Id) -> Answer {
        let answer = self.ask_for_it(who);
        self.waits.remove(&who);
        if answer == Answer::Busy && self.attempts[who].queue {
            let attempt = self.attempts[who].clone();
            let mut wait: Wait = Box::pin(async move {
                // The wait ends at each notification. Histories do not check notifications.
                loop {
                    backend(who).wait(&attempt).await.unwrap();
                }
            });
            run(async { assert!(poll!(&mut wait).is_pending()) });
            self.waits.insert(who, wait);
        }
        answer
    }

    fn ask_for_it(&mut self, who: Id) -> Answer {
        match run(backend(who).attempt(&self.attempts[who])).unwrap() {
            AttemptAnswer::Granted { token, .. } => Answer::Granted(self.draw(token)),
            AttemptAnswer::Busy { .. } => Answer::Busy,
            other => panic!("{other:?}"),
        }
    }

    fn renew(&self, who: Id, draw: Draw) -> Answer {
        let claim: Claim = self.attempts[who].claim(self.tokens[draw]);
        let answers = run(backend(who).renew(&[claim]));
        match answers[..] {
            [Ok(RenewAnswer::Extended { .. })] => Answer::Extended,
            [Ok(RenewAnswer::Gone)] => Answer::Gone,
            _ => panic!("{answers:?}"),
        }
    }

    /// Returns the index of a token. Checks that a new token is larger than all before it.
    fn draw(&mut self, token: FencingToken) -> Draw {
        let known = self.tokens.iter().position(|t| *t == token);
        known.unwrap_or_else(|| {
            let breach = self.lock.draw(Mode::Exclusive, token.get());
            assert_eq!(breach, None, "{token} after {:?}", self.tokens);
            self.tokens.push(token);
            self.tokens.len() - 1
        })
    }

    fn id(&self, owner: &str) -> Id {
        let mut attempts = self.attempts.iter();
        attempts.position(|a| a.owner.reveal() == owner).unwrap()
    }

    fn rewrite_place(&self, who: Id, change: impl Fn(&str, &str) -> String) {
        let (leases, owner) = (self.companion("leases"), self.attempts[who].owner.reveal());
        let place: Option<String> = self.ask("HGET", &[&leases, &owner]);
        if let Some((ends, rest)) = place.as_deref().and_then(|place| place.split_once(' ')) {
            self.say("HSET", &[&leases, &owner, &change(ends, rest)]);
        }
    }

    fn lock(&self) -> String {
        self.key.full().to_owned()
    }

    fn companion(&self, name: &str) -> String {
        format!("{{{}}}:lh1:{name}", self.key.full())
    }

    fn say(&self, command: &str, arguments: &[&str]) {
        let _whatever: Value = self.ask(command, arguments);
    }

    fn ask<T: redis::FromRedisValue>(&self, command: &str, arguments: &[&str]) -> T {
        let mut raw = SERVER.raw.clone();
        let mut command = redis::cmd(command);
        run(command.arg(arguments).query_async(&mut raw)).unwrap()
    }
}

fn run<T>(request: impl Future<Output = T>) -> T {
    SERVER.runtime.block_on(request)
}
