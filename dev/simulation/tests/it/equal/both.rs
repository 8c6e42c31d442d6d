//! A real server and a simulated one, which get the same commands.

use std::collections::BTreeMap;

use leasehold_simulation::{Reply, SimulatedRedis};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::resp::{RawClient, Value};
use leasehold_testkit::servers::RedisServer;

use crate::equal::chance::{Asked, CHANNELS, KEYS};
use crate::equal::scripts;

/// The number of the subscribed connection at the simulated server.
const LISTENER: u64 = 1;
const ASKER: u64 = 2;

pub(crate) struct Both {
    simulated: SimulatedRedis,
    asker: RawClient,
    listener: RawClient,
    clock: ClockShim,
    now: u64,
    verdicts: BTreeMap<String, u64>,
    _real: RedisServer,
}

impl Both {
    pub(crate) async fn start() -> Self {
        let clock = ClockShim::off_by(0).unwrap();
        let now = 1_800_000_000_000_000;
        clock.stand_at(now).unwrap();
        let real = RedisServer::builder()
            .wearing(&clock)
            .start()
            .await
            .unwrap();
        let mut both = Self {
            simulated: SimulatedRedis::new().unwrap(),
            asker: real.client().await.unwrap(),
            listener: real.client().await.unwrap(),
            clock,
            now,
            verdicts: BTreeMap::new(),
            _real: real,
        };
        for channel in CHANNELS {
            both.listener.command(["SUBSCRIBE", channel]).await.unwrap();
            both.simulated.execute(LISTENER, &["SUBSCRIBE", channel]);
        }
        for script in scripts::ALL {
            both.command(&["SCRIPT", "LOAD", script], "at the beginning")
                .await;
        }
        both
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn set_clock(&mut self, now: u64) {
        self.now = now;
        self.clock.stand_at(now).unwrap();
        self.simulated.set_clock(now);
    }

    /// Executes a request on both servers, and fails unless their replies and messages are equal.
    pub(crate) async fn ask(&mut self, asked: &Asked, place: &str) {
        let answer = self.script(asked, &format!("{place}: {asked:?}")).await;
        if let Some(said) = answer.text() {
            let verdict = match said.split_once(' ') {
                Some(("left", "unawaited")) => "unawaited",
                Some(("left", _token)) => "passed",
                Some((verdict, _)) => verdict,
                None => said,
            };
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
        }
        if asked.script == scripts::BATCH {
            // A request that a batch executes without checking more than its own keys has an answer of one word.
            let words = answer.items().iter().skip(1).filter_map(Value::text);
            let together = words.filter(|it| *it != "0" && !it.contains(' ')).count();
            *self.verdicts.entry("together".to_owned()).or_default() += together as u64;
        }
        for message in self.simulated.take_published() {
            let wanted = ["message", &message.channel, &message.payload];
            let wanted = wanted.map(|it| Value::Text(it.into())).to_vec();
            let heard = self.listener.answer().await.unwrap();
            assert_eq!(heard, Value::Array(wanted), "{place}");
        }
    }

    pub(crate) async fn compare_data(&mut self, place: &str) {
        let asked = Asked {
            script: scripts::DUMP,
            keys: KEYS.iter().map(|&it| it.to_owned()).collect(),
            arguments: Vec::new(),
        };
        self.script(&asked, &format!("{place}, data")).await;
    }

    /// Deletes all data of both servers, and checks that the real one has sent no further messages.
    pub(crate) async fn forget(&mut self, now: u64) {
        self.asker.command(["FLUSHALL"]).await.unwrap();
        self.simulated.forget();
        for script in scripts::ALL {
            self.command(&["SCRIPT", "LOAD", script], "anew").await;
        }
        let told = [CHANNELS[0], "the last"];
        self.asker
            .command(["PUBLISH", told[0], told[1]])
            .await
            .unwrap();
        let heard = self.listener.answer().await.unwrap();
        assert_eq!(heard.items()[2].text(), Some("the last"), "{heard:?}");
        self.set_clock(now + 1_000_000);
    }

    /// Checks that each verdict has occurred, because a sequence without events would prove nothing.
    pub(crate) fn expect_verdicts(&mut self, seed: u64) {
        let verdicts = std::mem::take(&mut self.verdicts);
        for verdict in [
            "granted",
            "busy",
            "late",
            "mixed",
            "left",
            "passed",
            "unawaited",
            "together",
        ] {
            let times = verdicts.get(verdict).copied().unwrap_or_default();
            assert!(times > 0, "seed {seed}: {verdicts:?}");
        }
    }

    async fn script(&mut self, asked: &Asked, place: &str) -> Value {
        let hash = redis::Script::new(asked.script).get_hash().to_owned();
        let count = asked.keys.len().to_string();
        let mut words = vec!["EVALSHA", &hash, &count];
        words.extend(asked.keys.iter().map(String::as_str));
        words.extend(asked.arguments.iter().map(String::as_str));
        self.command(&words, place).await
    }

    async fn command(&mut self, words: &[&str], place: &str) -> Value {
        self.asker.send(words).await.unwrap();
        let real = coded(self.asker.answer().await.unwrap());
        let simulated = coded(value(self.simulated.execute(ASKER, words)));
        assert_eq!(simulated, real, "{place}: simulated, and real");
        real
    }
}

fn value(reply: Reply) -> Value {
    match reply {
        Reply::Status(text) | Reply::Text(text) => Value::Text(text.into_bytes()),
        Reply::Error(text) => Value::Error(text),
        Reply::Int(number) => Value::Int(number),
        Reply::Nil => Value::Nil,
        Reply::List(items) => Value::Array(items.into_iter().map(value).collect()),
        Reply::Push(items) => Value::Push(items.into_iter().map(value).collect()),
        Reply::Map(pairs) => {
            let pairs = pairs.into_iter();
            Value::Map(pairs.map(|(a, b)| (value(a), value(b))).collect())
        }
    }
}

/// Reduces an error to its code.
fn coded(value: Value) -> Value {
    match value {
        Value::Error(text) => Value::Error(text.split(' ').next().unwrap_or_default().to_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(coded).collect()),
        other => other,
    }
}
