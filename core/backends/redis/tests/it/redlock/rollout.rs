//! A roll-out on a majority: manual rounds with the scripts of the first `lh1`, together with this version. The folder
//! `lh1` contains the old scripts and must not be changed. A version that is not compatible with them needs another
//! layout.

use redis::aio::MultiplexedConnection;
use redis::{Script, ScriptInvocation};

use crate::redlock::nodes::{Nodes, SOON};

const TTL: &str = "30000";
const FENCE_TTL: &str = "172800000";
const INBOX: &str = "leasehold:inbox:old";

macro_rules! script {
    ($name:literal) => {
        Script::new(concat!(
            include_str!("lh1/line.lua"),
            include_str!(concat!("lh1/", $name, ".lua"))
        ))
    };
}

/// A client with the first version of `lh1`, on three nodes.
struct Old(Vec<MultiplexedConnection>);

fn keys<'a>(script: &'a Script, round: &str) -> ScriptInvocation<'a> {
    let mut call = script.key("lock:k");
    for name in ["fence", "line", "places", "turn"] {
        call.key(format!("{{lock:k}}:lh1:{name}"));
    }
    call.key(format!("{{lock:k}}:lh1:sealed:{round}"));
    call
}

impl Old {
    async fn connect(nodes: &Nodes) -> Self {
        let mut raw = Vec::new();
        for place in 0..nodes.servers.len() {
            raw.push(nodes.raw(place).await);
        }
        Self(raw)
    }

    /// Returns the node's clock.
    async fn now(&mut self) -> u64 {
        let time = redis::cmd("TIME");
        let (seconds, micros): (u64, u64) = time.query_async(&mut self.0[0]).await.unwrap();
        seconds * 1_000_000 + micros
    }

    /// Runs a round, and returns the token if all nodes grant it with one token.
    async fn acquire(&mut self, round: &str) -> Option<i64> {
        let now = self.now().await;
        let (hint, since, expires_at) = (now + 250_000, now, now + 60_000_000);
        let script = script!("acquire");
        let mut tokens = Vec::new();
        for node in &mut self.0 {
            let mut call = keys(&script, round);
            call.arg(round).arg(TTL).arg(hint).arg(1_000_000);
            call.arg(FENCE_TTL).arg("").arg(since).arg(INBOX);
            call.arg(33_000).arg(expires_at);
            let answer: Vec<String> = call.invoke_async(node).await.unwrap();
            if answer[0] != "granted" {
                assert_eq!(answer[0], "busy");
                return None;
            }
            tokens.push(answer[2].parse::<i64>().unwrap());
        }
        let token = tokens.iter().copied().max()?;
        assert_eq!(
            self.each("raise", round, &[&token.to_string(), FENCE_TTL])
                .await,
            [1, 1, 1]
        );
        Some(token)
    }

    async fn extend(&mut self, round: &str, token: i64) -> Vec<i64> {
        self.each("extend", round, &[TTL, &token.to_string(), FENCE_TTL])
            .await
    }

    async fn each(&mut self, what: &str, round: &str, arguments: &[&str]) -> Vec<i64> {
        let script = match what {
            "raise" => script!("raise"),
            _ => script!("extend"),
        };
        let mut answers = Vec::new();
        for node in &mut self.0 {
            let mut call = keys(&script, round);
            call.arg(round);
            for argument in arguments {
                call.arg(argument);
            }
            answers.push(call.invoke_async(node).await.unwrap());
        }
        answers
    }

    async fn leave(&mut self, round: &str) -> Vec<String> {
        let script = script!("leave");
        let mut answers = Vec::new();
        for node in &mut self.0 {
            let mut call = keys(&script, round);
            call.arg(round).arg("").arg(500).arg(100).arg(0);
            answers.push(call.invoke_async(node).await.unwrap());
        }
        answers
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rounds_of_both_versions_exclude_each_other_and_share_counters() {
    let nodes = Nodes::start(3).await;
    let (mut old, new) = (Old::connect(&nodes).await, nodes.locks().await);
    let mut newest = old.acquire("a").await.unwrap();
    for _ in 0..3 {
        assert!(new.lock("k").try_acquire().await.unwrap().is_none());
        assert_eq!(
            new.inspect("k").await.unwrap().token.map(Into::into),
            Some(newest)
        );
        assert_eq!(old.extend("a", newest).await, [1, 1, 1]);
        assert_eq!(old.leave("a").await, ["left", "left", "left"]);

        let guard = nodes.held_everywhere(&new, "k").await;
        assert!(guard.token().get() > newest);
        newest = guard.token().get();
        assert_eq!(old.acquire("b").await, None);
        assert_eq!(old.leave("b").await, ["absent", "absent", "absent"]);
        assert_eq!(old.extend("a", newest).await, [0, 0, 0]);
        guard.renew().await.unwrap();
        guard.release().await.unwrap();
        nodes.are_empty("k").await;

        let token = old.acquire("a").await.unwrap();
        assert!(token > newest);
        newest = token;
    }
    // A release of the old client notifies a waiter of the new one.
    let waiting = tokio::spawn(new.lock("k").acquire());
    crate::redlock::nodes::eventually("it waits", async || {
        new.inspect("k").await.unwrap().waiting == 1
    })
    .await;
    assert_eq!(old.leave("a").await, ["left", "left", "left"]);
    let guard = tokio::time::timeout(SOON, waiting).await.unwrap();
    assert!(guard.unwrap().unwrap().token().get() > newest);
}
