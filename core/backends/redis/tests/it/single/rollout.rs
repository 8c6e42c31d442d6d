//! A roll-out: a client with the scripts of the first `lh1` and a client of this version use one key. The folder `lh1`
//! contains the old scripts and must not be changed. A version that is not compatible with them needs another layout.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::backend::{Attempt, Backend, RenewAnswer};
use leasehold::{AttemptId, Error, FencingToken, HandoverTicket, Key};
use leasehold_testkit::resp::RawClient;
use redis::aio::MultiplexedConnection;
use redis::{Script, ScriptInvocation};
use tokio::time::timeout;

use crate::single::server::{Server, waiters};

const SOON: Duration = Duration::from_secs(5);
const INBOX: &str = "leasehold:inbox:old";
const TTL: &str = "30000";
const GRANT_TTL: &str = "2000";
const FENCE_TTL: &str = "172800000";

macro_rules! script {
    ($name:literal) => {
        Script::new(concat!(
            include_str!("lh1/queue.lua"),
            include_str!(concat!("lh1/", $name, ".lua"))
        ))
    };
}

/// A client with the first version of `lh1`.
struct Old {
    raw: MultiplexedConnection,
    ears: RawClient,
}

/// The answer to an acquire, without the server's time.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Granted(FencingToken),
    Other(String),
}

impl Answer {
    fn token(self) -> FencingToken {
        match self {
            Self::Granted(token) => token,
            Self::Other(answer) => panic!("{answer}"),
        }
    }

    fn is(&self, word: &str) -> bool {
        *self == Self::Other(word.to_owned())
    }
}

fn keys<'a>(script: &'a Script) -> ScriptInvocation<'a> {
    let mut call = script.key("lock:k");
    for name in ["fence", "queue", "leases", "shares"] {
        call.key(format!("{{lock:k}}:lh1:{name}"));
    }
    call
}

fn seal(owner: &str) -> String {
    format!("{{lock:k}}:lh1:sealed:{owner}")
}

impl Old {
    async fn connect(server: &Server) -> Self {
        let mut ears = server.inner().client().await.unwrap();
        ears.command(["SUBSCRIBE", INBOX]).await.unwrap();
        let raw = server.raw().await;
        Self { raw, ears }
    }

    /// Acquires the lock, or queues if it is busy.
    async fn acquire(&mut self, owner: &str, mode: &str) -> Answer {
        self.take(owner, mode, "").await
    }

    async fn take(&mut self, owner: &str, mode: &str, giver: &str) -> Answer {
        let time = redis::cmd("TIME");
        let (seconds, micros): (u64, u64) = time.query_async(&mut self.raw).await.unwrap();
        let expires_at = (seconds + 60) * 1_000_000 + micros;
        let script = script!("acquire");
        let mut call = keys(&script);
        call.key(seal(owner));
        call.key(seal(if giver.is_empty() { owner } else { giver }));
        for argument in [owner, TTL, "1", INBOX, &expires_at.to_string(), "33000"] {
            call.arg(argument);
        }
        for argument in [GRANT_TTL, FENCE_TTL, "0", mode, giver, "60000"] {
            call.arg(argument);
        }
        let answer: Vec<String> = call.invoke_async(&mut self.raw).await.unwrap();
        match &answer[..] {
            [word, _, token] if word == "granted" => Answer::Granted(token.parse().unwrap()),
            [word, ..] => Answer::Other(word.clone()),
            [] => panic!("no answer"),
        }
    }

    /// Waits until `owner` is notified.
    async fn told(&mut self, owner: &str) {
        let turn = async {
            loop {
                let message = self.ears.answer().await.unwrap();
                let word = |at: usize| message.items()[at].text().unwrap().to_owned();
                if word(0) == "message" && word(2) == owner {
                    return;
                }
            }
        };
        timeout(SOON, turn).await.unwrap();
    }

    /// Releases the lock, or leaves the queue. Returns `left` if it held the lock.
    async fn leave(&mut self, owner: &str) -> String {
        let script = script!("leave");
        let mut call = keys(&script);
        call.key(seal(owner)).arg(owner).arg(GRANT_TTL).arg("0");
        call.invoke_async(&mut self.raw).await.unwrap()
    }

    async fn renew(&mut self, owner: &str, token: FencingToken, mode: &str) -> bool {
        let script = script!("renew");
        let mut call = keys(&script);
        call.arg(owner).arg(TTL).arg(token.get()).arg(FENCE_TTL);
        call.arg(mode);
        let renewed: i64 = call.invoke_async(&mut self.raw).await.unwrap();
        renewed == 1
    }

    async fn downgrade(&mut self, owner: &str, token: FencingToken) -> bool {
        let script = script!("downgrade");
        let mut call = keys(&script);
        call.arg(owner).arg(TTL).arg(token.get()).arg(GRANT_TTL);
        let shared: i64 = call.invoke_async(&mut self.raw).await.unwrap();
        shared == 1
    }
}

#[tokio::test]
async fn both_versions_exclude_each_other_and_share_a_token_counter() {
    let server = Server::start().await;
    let (mut old, new) = (Old::connect(&server).await, server.locks().await);
    let mut newest = old.acquire("a", "x").await.token();
    let seen = new.inspect("k").await.unwrap();
    assert_eq!(
        (seen.owner.as_deref(), seen.token),
        (Some("a"), Some(newest))
    );
    for _ in 0..3 {
        assert!(new.lock("k").try_acquire().await.unwrap().is_none());
        assert!(old.renew("a", newest, "x").await);
        // A repeated request is the same acquisition.
        assert_eq!(old.acquire("a", "x").await, Answer::Granted(newest));
        assert_eq!(old.leave("a").await, "left");

        let guard = new.lock("k").try_acquire().await.unwrap().unwrap();
        assert!(guard.token() > newest);
        assert!(old.acquire("b", "x").await.is("busy"));
        assert_eq!(old.leave("b").await, "absent");
        assert!(!old.renew("a", newest, "x").await);
        guard.renew().await.unwrap();
        newest = guard.token();
        guard.release().await.unwrap();

        let token = old.acquire("a", "x").await.token();
        assert!(token > newest);
        newest = token;
    }
}

#[tokio::test]
async fn both_versions_share_one_queue_and_hand_off_to_each_other() {
    let server = Server::start().await;
    let (mut old, new) = (Old::connect(&server).await, server.locks().await);
    let first = new.lock("k").acquire().await.unwrap();
    assert!(old.acquire("a", "x").await.is("busy"));
    let second = tokio::spawn(new.lock("k").acquire());
    waiters(&new, 2).await;
    assert!(old.acquire("c", "x").await.is("busy"));
    let third = tokio::spawn(new.lock("k").acquire());
    waiters(&new, 4).await;

    let mut tokens = vec![first.token()];
    first.release().await.unwrap();
    old.told("a").await;
    tokens.push(old.acquire("a", "x").await.token());
    // Neither waiters behind nor new requests can overtake.
    assert!(old.acquire("c", "x").await.is("busy"));
    assert!(new.lock("k").try_acquire().await.unwrap().is_none());
    assert_eq!(old.leave("a").await, "left");

    let second = timeout(SOON, second).await.unwrap().unwrap().unwrap();
    tokens.push(second.token());
    assert!(!third.is_finished());
    second.release().await.unwrap();
    old.told("c").await;
    tokens.push(old.acquire("c", "x").await.token());
    assert_eq!(old.leave("c").await, "left");

    let third = timeout(SOON, third).await.unwrap().unwrap().unwrap();
    tokens.push(third.token());
    third.release().await.unwrap();
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    assert!(new.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn readers_and_permits_of_both_versions_are_counted_together() {
    let server = Server::start().await;
    let (mut old, new) = (Old::connect(&server).await, server.locks().await);
    let reader = new.rw_lock("k").read().acquire().await.unwrap();
    assert_eq!(old.acquire("r", "s").await, Answer::Granted(reader.token()));
    assert!(old.renew("r", reader.token(), "s").await);
    assert!(new.lock("k").try_acquire().await.unwrap().is_none());
    let shared = reader.token();
    reader.release().await.unwrap();
    assert!(new.lock("k").try_acquire().await.unwrap().is_none());
    assert_eq!(old.leave("r").await, "left");

    let token = old.acquire("w", "x").await.token();
    assert!(token > shared);
    let waiting = tokio::spawn(new.rw_lock("k").read().acquire());
    waiters(&new, 1).await;
    assert!(old.downgrade("w", token).await);
    let reader = timeout(SOON, waiting).await.unwrap().unwrap().unwrap();
    reader.renew().await.unwrap();
    assert_eq!(old.leave("w").await, "left");
    reader.release().await.unwrap();

    let permit = new.semaphore("k", 2).acquire().await.unwrap();
    old.acquire("p", "p1/2").await.token();
    assert!(new.semaphore("k", 2).try_acquire().await.unwrap().is_none());
    assert!(old.acquire("q", "p1/2").await.is("busy"));
    permit.release().await.unwrap();
    old.told("q").await;
    old.acquire("q", "p1/2").await.token();
    assert!(new.semaphore("k", 2).try_acquire().await.unwrap().is_none());
    assert!(old.acquire("x", "x").await.is("mixed"));
    assert_eq!(old.leave("p").await, "left");
    assert_eq!(old.leave("q").await, "left");
    assert!(new.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn a_handover_is_accepted_only_by_the_version_that_made_it() {
    let server = Server::start().await;
    let (mut old, new) = (Old::connect(&server).await, server.locks().await);
    let guard = new.lock("k").acquire().await.unwrap();
    let given = guard.token();
    let ticket = guard.hand_over().await.unwrap();
    assert!(!ticket.to_string().starts_with("leasehold-ticket-1 "));
    assert!(old.acquire("o", "x").await.is("busy"));
    assert_eq!(old.leave("o").await, "absent");
    let taken = new.accept(&ticket).await.unwrap();
    assert!(taken.token() > given);
    taken.release().await.unwrap();

    // A ticket as the first `lh1` wrote it, and one with a secret that the previous holder has not stored.
    let giver = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
    let given = old.acquire(giver, "x").await.token();
    let first = format!("leasehold-ticket-1 {giver} {given} 30000 5 lock:k");
    assert!(first.parse::<HandoverTicket>().unwrap_err().is_outdated());
    let forged = format!("leasehold-ticket-2 {giver} {given} {giver} 30000 5 lock:k");
    let refused = new.accept(&forged.parse().unwrap()).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::HandoverSpent { .. }), "{refused}");
    let taken = old.take("taker", "x", giver).await.token();
    assert!(taken > given);
    assert_eq!(old.leave("taker").await, "left");
}

/// Returns all values of a lock, each with its approximate TTL.
async fn kept(raw: &mut MultiplexedConnection, lock: &str) -> Vec<(Option<String>, i64)> {
    let mut kept = Vec::new();
    for name in [lock.to_owned(), format!("{{{lock}}}:lh1:fence")] {
        let mut both = redis::pipe();
        both.cmd("GET").arg(&name).cmd("PTTL").arg(&name);
        let (value, left): (_, i64) = both.query_async(raw).await.unwrap();
        // Round to five seconds, which is longer than the test.
        kept.push((value, (left + 2_500) / 5_000));
    }
    kept
}

#[tokio::test]
async fn batched_renewals_leave_the_same_keys_as_the_first_version() {
    let server = Server::start().await;
    let mut old = Old::connect(&server).await;
    let new = Redis::connect(&server.url()).await.unwrap();
    let owner = AttemptId::random();
    let other = AttemptId::random();
    let record = |token: i64, owner: AttemptId| Some(format!("{token} {}", owner.reveal()));
    let cases = [
        (Some(owner), record(7, owner)),
        (Some(owner), None),
        (Some(owner), record(8, owner)),
        (Some(owner), record(8, other)),
        (Some(other), record(7, owner)),
        (Some(other), None),
        (None, record(7, owner)),
        (None, None),
    ];
    let token = FencingToken::try_from(7).unwrap();
    let (mut claims, mut expected) = (Vec::new(), Vec::new());
    for (case, (holder, record)) in cases.iter().enumerate() {
        let key = Key::new("", &case.to_string()).unwrap();
        let mut claim = Attempt::new(key, Duration::from_secs(30), true).claim(token);
        claim.owner = owner;
        for lock in ["lock:k", claim.key.full()] {
            let mut before = redis::pipe();
            let fence = format!("{{{lock}}}:lh1:fence");
            before.cmd("DEL").arg(lock).arg(&fence);
            if let Some(holder) = holder {
                let set = before.cmd("SET").arg(lock).arg(holder.to_string());
                set.arg("PX").arg(20_000);
            }
            if let Some(record) = record {
                let set = before.cmd("SET").arg(fence).arg(record);
                set.arg("PX").arg(1_000_000);
            }
            before.exec_async(&mut old.raw).await.unwrap();
        }
        let extended = old.renew(&owner.reveal(), token, "x").await;
        expected.push((extended, kept(&mut old.raw, "lock:k").await));
        claims.push(claim);
    }
    let answers = new.renew(&claims).await;
    for ((claim, answer), expected) in claims.iter().zip(answers).zip(expected) {
        let extended = matches!(answer.unwrap(), RenewAnswer::Extended { .. });
        let kept = kept(&mut old.raw, claim.key.full()).await;
        assert_eq!((extended, kept), expected, "{}", claim.key);
    }
}
