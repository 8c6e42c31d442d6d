//! Generates random requests.

use fastrand::Rng;

use crate::equal::scripts::{
    ACQUIRE, BATCH, COMMAND, DOWNGRADE, FORCE, HAND_OVER, INSPECT, LEAVE, RENEW, RENEW_SHARE,
};

/// The keys of two locks, and one key of no lock.
pub(crate) const KEYS: [&str; 27] = [
    "lock:a",
    "{lock:a}:lh1:fence",
    "{lock:a}:lh1:queue",
    "{lock:a}:lh1:leases",
    "{lock:a}:lh1:shares",
    "lock:b",
    "{lock:b}:lh1:fence",
    "{lock:b}:lh1:queue",
    "{lock:b}:lh1:leases",
    "{lock:b}:lh1:shares",
    "{lock:a}:lh1:sealed:o0",
    "{lock:a}:lh1:sealed:o1",
    "{lock:a}:lh1:sealed:o2",
    "{lock:a}:lh1:sealed:o3",
    "{lock:a}:lh1:sealed:o4",
    "{lock:a}:lh1:sealed:o5",
    "{lock:a}:lh1:sealed:o6",
    "{lock:b}:lh1:sealed:o0",
    "{lock:b}:lh1:sealed:o1",
    "{lock:b}:lh1:sealed:o2",
    "{lock:b}:lh1:sealed:o3",
    "{lock:b}:lh1:sealed:o4",
    "{lock:b}:lh1:sealed:o5",
    "{lock:b}:lh1:sealed:o6",
    "{lock:a}:lh1:handover",
    "{lock:b}:lh1:handover",
    "loose",
];

/// The subscribed channels.
pub(crate) const CHANNELS: [&str; 2] = ["inbox:1", "inbox:2"];

const OWNERS: u32 = 7;
const MODES: [&str; 7] = ["x", "x", "x", "u", "s", "s", "p2/3"];

/// A script with its keys and arguments.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) script: &'static str,
    pub(crate) keys: Vec<String>,
    pub(crate) arguments: Vec<String>,
}

/// Returns the keys of a lock and the tombstone of an owner, as in the request of an attempt or a release.
fn keys(lock: &str, owner: &str) -> Vec<String> {
    let companion = |name| format!("{{{lock}}}:lh1:{name}");
    let [queue, fence, leases, shares] = ["queue", "fence", "leases", "shares"].map(companion);
    let seal = seal(lock, owner);
    vec![lock.to_owned(), queue, fence, seal, leases, shares]
}

/// Returns the first `needed` keys, or all of them if `all` is set.
fn cut(mut keys: Vec<String>, needed: usize, all: bool) -> Vec<String> {
    if !all {
        keys.truncate(needed);
    }
    keys
}

fn seal(lock: &str, owner: &str) -> String {
    format!("{{{lock}}}:lh1:sealed:{owner}")
}

pub(crate) struct Chance {
    random: Rng,
    now: u64,
    /// The token of the last requested renewal. It does not depend on answers.
    drawn: u64,
    /// The number of requests so far.
    asked: usize,
}

impl Chance {
    pub(crate) fn of(seed: u64, now: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            now,
            drawn: now,
            asked: 0,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn next(&mut self) -> Asked {
        self.asked += 1;
        match self.asked {
            1 => self.asks("o0"),
            2 => self.asks("o1"),
            // Random requests rarely cause a direct hand-off, so make one.
            3 => Asked {
                script: LEAVE,
                keys: [keys("lock:a", "o0"), vec![seal("lock:a", "o1")]].concat(),
                arguments: ["o0", "0", "o1", ""].map(ToOwned::to_owned).to_vec(),
            },
            // Also hand off to a waiter that is not in the queue.
            4 => Asked {
                script: LEAVE,
                keys: [keys("lock:a", "o1"), vec![seal("lock:a", "o2")]].concat(),
                arguments: ["o1", "0", "o2"]
                    .map(ToOwned::to_owned)
                    .into_iter()
                    .chain([(self.now + 60_000_000).to_string()])
                    .collect(),
            },
            // The new holder then hands the lock over.
            5 => self.hands_over("lock:a", "o2", self.now + 2),
            6 => {
                let mut asked = self.asks("o3");
                let handed = format!("{} s0", self.now + 2);
                asked
                    .arguments
                    .extend(["x", "o2", "0", &handed].map(ToOwned::to_owned));
                asked
            }
            // The holder after the handover names a waiter that is not in the queue.
            7 => Asked {
                script: LEAVE,
                keys: [keys("lock:a", "o3"), vec![seal("lock:a", "o1")]].concat(),
                arguments: ["o3", "0", "o1", ""].map(ToOwned::to_owned).to_vec(),
            },
            _ => self.any(),
        }
    }

    fn hands_over(&mut self, lock: &str, giver: &str, token: u64) -> Asked {
        let companions = ["fence", "handover"].map(|it| format!("{{{lock}}}:lh1:{it}"));
        let (token, ttl) = (token.to_string(), self.ttl());
        let words = [giver, &token, "s0", &ttl];
        Asked {
            script: HAND_OVER,
            keys: [vec![lock.to_owned()], companions.to_vec()].concat(),
            arguments: words.map(ToOwned::to_owned).to_vec(),
        }
    }

    /// Acquires the lock, or waits for it.
    fn asks(&mut self, owner: &str) -> Asked {
        let mut arguments = self.acquire(owner, "");
        for (at, said) in [(1, "30000"), (3, "inbox:1")] {
            said.clone_into(&mut arguments[at]);
        }
        arguments[2] = (self.now + 60_000_000).to_string();
        arguments.truncate(4);
        Asked {
            script: ACQUIRE,
            keys: cut(keys("lock:a", owner), 4, false),
            arguments,
        }
    }

    fn any(&mut self) -> Asked {
        self.now += match self.random.u32(0..12) {
            0..6 => self.random.u64(0..3_000),
            6..11 => self.random.u64(0..400_000),
            _ => self.random.u64(0..40_000_000),
        };
        let lock = if self.random.u32(0..4) == 0 {
            "lock:b"
        } else {
            "lock:a"
        };
        let owner = self.owner();
        let mut looked = vec![lock.to_owned()];
        let companions = ["fence", "queue", "leases", "shares"];
        looked.extend(companions.map(|it| format!("{{{lock}}}:lh1:{it}")));
        let all = self.random.bool();
        let (script, keys, arguments) = match self.random.u32(0..20) {
            0..3 => self.batch(),
            3..9 => {
                let giver = match self.random.u32(0..6) {
                    0 => self.owner(),
                    _ => String::new(),
                };
                let mut arguments = self.acquire(&owner, &giver);
                if giver.is_empty() && arguments[4] == "x" && self.random.bool() {
                    arguments.truncate(4);
                }
                let mut keys = cut(keys(lock, &owner), 4, all);
                if !giver.is_empty() {
                    let secret = ["s0", "s1"][usize::from(self.random.u32(0..4) == 0)];
                    arguments.push(format!("{} {secret}", self.token()));
                    if all {
                        keys.push(seal(lock, &giver));
                        keys.push(format!("{{{lock}}}:lh1:handover"));
                    }
                }
                (ACQUIRE, keys, arguments)
            }
            9..14 => {
                let until = [
                    String::new(),
                    (self.now + self.random.u64(0..3_000_000)).to_string(),
                ];
                let until = until[self.random.usize(0..2)].clone();
                let copies = [0, self.now + self.random.u64(0..3_000_000)];
                let copies = copies[self.random.usize(0..2)].to_string();
                let mut keys = keys(lock, &owner);
                if self.random.u32(0..3) == 0 {
                    let words = 1 + usize::from(copies != "0");
                    let mut arguments = vec![owner, copies];
                    arguments.truncate(words);
                    (LEAVE, cut(keys, 2, all), arguments)
                } else {
                    let named = self.owner();
                    keys.push(seal(lock, &named));
                    let arguments = vec![owner, copies, named, until];
                    (LEAVE, cut(keys, 3, all), arguments)
                }
            }
            14..16 if self.random.bool() => (RENEW_SHARE, looked, self.renew_share(owner)),
            14..16 => {
                let keys = [
                    "lock:a",
                    "{lock:a}:lh1:fence",
                    "lock:b",
                    "{lock:b}:lh1:fence",
                ]
                .map(ToOwned::to_owned)
                .to_vec();
                (RENEW, keys, self.renew())
            }
            16 if self.random.bool() => {
                let token = self.drawn - self.random.u64(0..2);
                return self.hands_over(lock, &owner, token);
            }
            16 => {
                let token = self.token();
                (DOWNGRADE, looked, vec![owner, self.ttl(), token])
            }
            17 if self.random.bool() => (FORCE, looked, Vec::new()),
            17 => (INSPECT, looked, Vec::new()),
            _ => (COMMAND, Vec::new(), self.command()),
        };
        Asked {
            script,
            keys,
            arguments,
        }
    }

    /// Returns a batch of releases and attempts, for one lock or both.
    fn batch(&mut self) -> (&'static str, Vec<String>, Vec<String>) {
        let (leaves, takes) = (self.random.usize(0..4), self.random.usize(1..5));
        let inbox = ["inbox:1", "inbox:nobody"][self.random.usize(0..2)];
        let heal = ["0", "1"][self.random.usize(0..2)];
        let mut all_keys = Vec::new();
        let mut arguments = vec![leaves.to_string(), inbox.to_owned(), heal.to_owned()];
        for at in 0..leaves + takes {
            let lock = ["lock:a", "lock:b"][self.random.usize(0..2)];
            let (owner, ttl) = (self.owner(), self.ttl());
            let soon = self.now + self.random.u64(0..3_000_000);
            let needed = if at < leaves { 2 } else { 4 };
            all_keys.extend(cut(keys(lock, &owner), needed, false));
            let said = if at < leaves {
                let named = match self.random.u32(0..4) {
                    0 => format!("{} ", self.owner()),
                    1 => format!("{} {soon}", self.owner()),
                    _ => String::new(),
                };
                let copies = [0, soon][usize::from(self.random.u32(0..4) == 0)];
                [owner, copies.to_string(), named].to_vec()
            } else {
                let queues = ["0", "1"][self.random.usize(0..2)].to_owned();
                let expires = [soon, self.now][usize::from(self.random.u32(0..8) == 0)];
                [owner, ttl, queues, expires.to_string()].to_vec()
            };
            arguments.extend(said);
        }
        self.drawn = self.drawn.max(self.now);
        (BATCH, all_keys, arguments)
    }

    fn owner(&mut self) -> String {
        format!("o{}", self.random.u32(0..OWNERS))
    }

    fn ttl(&mut self) -> String {
        [100, 700, 5_000, 60_000][self.random.usize(0..4)].to_string()
    }

    fn mode(&mut self) -> String {
        match self.random.u32(0..30) {
            0 => "p1/3".to_owned(),
            _ => MODES[self.random.usize(0..MODES.len())].to_owned(),
        }
    }

    fn acquire(&mut self, owner: &str, giver: &str) -> Vec<String> {
        let expires = match self.random.u32(0..12) {
            0 => self.now.saturating_sub(self.random.u64(0..2)),
            _ => self.now + 60_000_000,
        };
        let inbox = ["inbox:1", "inbox:2", "inbox:nobody", ""][self.random.usize(0..4)];
        let flag = |set| if set { "1" } else { "0" }.to_owned();
        self.drawn = self.drawn.max(self.now);
        vec![
            owner.to_owned(),
            self.ttl(),
            expires.to_string(),
            inbox.to_owned(),
            self.mode(),
            giver.to_owned(),
            flag(self.random.bool()),
        ]
    }

    fn token(&mut self) -> String {
        (self.drawn - self.random.u64(0..2)).to_string()
    }

    /// Renews both locks together.
    fn renew(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..2 {
            words.extend([self.owner(), self.token(), self.ttl()]);
        }
        words
    }

    fn renew_share(&mut self, owner: String) -> Vec<String> {
        vec![owner, self.ttl(), self.mode()]
    }

    /// Returns a command that the scripts use, on a random key with any value.
    fn command(&mut self) -> Vec<String> {
        let key = KEYS[match self.random.u32(0..3) {
            0 => self.random.usize(0..KEYS.len()),
            _ => KEYS.len() - 1,
        }];
        let soon = self.now / 1000 + self.random.u64(1..2000);
        let field = self.owner();
        let past = self.now / 1000 - 5;
        let forms = [
            "TIME".to_owned(),
            format!("GET {key}"),
            format!("MGET {key} {} {key}", KEYS[0]),
            format!("SET {key} {field} PX 300 NX"),
            format!("ZADD {key} NX {soon} {field}"),
            format!("ZADD {key} NX five {field}"),
            format!("SET {key} {field}"),
            format!("SET {key} {field} PX 300"),
            format!("SET {key} {field} PXAT {soon}"),
            format!("SET {key} {field} PX 0"),
            format!("SET {key} {field} KEEPTTL"),
            format!("SET {key} {field} KEEPTTL GET"),
            format!("SET {key} {field} KEEPTTL PX 300"),
            format!("SET {key} {field} NX GET"),
            format!("DEL {key} {key}"),
            format!("EXISTS {key} {key}"),
            format!("PTTL {key}"),
            format!("PEXPIRE {key} 500"),
            format!("PEXPIRE {key} -1"),
            format!("PEXPIREAT {key} {soon}"),
            format!("PEXPIREAT {key} {past}"),
            format!("HGET {key} {field}"),
            format!("HSET {key} {field} {soon}"),
            format!("HDEL {key} {field} none"),
            format!("HGETALL {key}"),
            format!("ZADD {key} {soon} {field}"),
            format!("ZADD {key} 5 {field}"),
            format!("ZADD {key} five {field}"),
            format!("ZCARD {key}"),
            format!("ZSCORE {key} {field}"),
            format!("ZRANGE {key} 0 0"),
            format!("ZRANGE {key} -2 -1 WITHSCORES"),
            format!("ZREVRANGE {key} 1 5 WITHSCORES"),
            format!("ZREM {key} {field} none"),
            format!("ZREMRANGEBYSCORE {key} -inf {soon}"),
            format!("PUBLISH {} {field}", CHANNELS[0]),
        ];
        let form = &forms[self.random.usize(0..forms.len())];
        form.split(' ').map(ToOwned::to_owned).collect()
    }
}
