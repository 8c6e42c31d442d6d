use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Script};
use tokio::task::unconstrained;
use uuid::Uuid;

use super::{Contestant, Notifications};
use crate::BoxError;

const PRELUDE: &str =
    include_str!("../../../../core/backends/redis/src/redlock/scripts/prelude.lua");
const ACQUIRE: &str =
    include_str!("../../../../core/backends/redis/src/redlock/scripts/acquire.lua");
const RELEASE: &str =
    include_str!("../../../../core/backends/redis/src/redlock/scripts/release.lua");

/// The library's own scripts on several nodes, called directly: concurrently on all nodes, until a majority has
/// replied. The nodes agree on a token. It does not have waiting, renewal, or handling of nodes that do not reply.
#[derive(Debug, Clone)]
pub(crate) struct Quorum {
    nodes: Vec<MultiplexedConnection>,
    acquire: String,
    release: String,
}

/// A key and its owner.
#[derive(Debug)]
pub(crate) struct Held {
    names: [String; 6],
    round: String,
}

impl Quorum {
    pub(super) async fn enter(urls: &[String]) -> Result<Self, BoxError> {
        let hashes = [ACQUIRE, RELEASE].map(|text| Script::new(&format!("{PRELUDE}{text}")));
        let mut nodes = Vec::new();
        for url in urls {
            let mut connection = super::connection(url, &Notifications::default()).await?;
            for script in &hashes {
                script.prepare_invoke().load_async(&mut connection).await?;
            }
            nodes.push(connection);
        }
        let [acquire, release] = hashes.map(|script| script.get_hash().to_owned());
        Ok(Self {
            nodes,
            acquire,
            release,
        })
    }

    /// Returns the first good replies that are a majority. Later replies are ignored.
    async fn ask<T: redis::FromRedisValue + Send + 'static>(
        &self,
        command: &Cmd,
        is_good: impl Fn(&T) -> bool + Send + Sync,
    ) -> Result<Vec<T>, BoxError> {
        let mut asked: FuturesUnordered<_> = self
            .nodes
            .iter()
            .cloned()
            .map(|mut node| {
                let command = command.clone();
                async move { command.query_async::<T>(&mut node).await }
            })
            .collect();
        let mut answers = Vec::new();
        while answers.len() <= self.nodes.len() / 2 {
            // Unconstrained, because a yield here could send a command after the next one.
            match unconstrained(asked.next()).await {
                Some(answer) => answers.extend(Some(answer?).filter(&is_good)),
                None => return Err("no quorum".into()),
            }
        }
        tokio::spawn(async move { while asked.next().await.is_some() {} });
        Ok(answers)
    }
}

fn call(hash: &str, names: &[String; 6]) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(hash).arg(names.len()).arg(names);
    command
}

impl Contestant for Quorum {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        let names = [
            key.to_owned(),
            format!("{{{key}}}:lh1:fence"),
            format!("{{{key}}}:lh1:line"),
            format!("{{{key}}}:lh1:places"),
            format!("{{{key}}}:lh1:turn"),
            format!("{{{key}}}:lh1:sealed"),
        ];
        let round = Uuid::new_v4().to_string();
        let hint = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64 + 250_000;
        let mut acquire = call(&self.acquire, &names);
        // ttl, hint, clamp, fence, waiter, since, notifications, waiter's lease, expiry
        acquire.arg(&round).arg(30_000).arg(hint);
        acquire.arg(1_000_000).arg(172_800_000);
        acquire.arg("").arg(0).arg("").arg(33_000);
        acquire.arg(9_000_000_000_000_000_i64);
        let is_granted = |answer: &Vec<String>| answer[0] == "granted";
        let answers = self.ask(&acquire, is_granted).await?;
        match answers.windows(2).all(|pair| pair[0][2] == pair[1][2]) {
            true => Ok(Held { names, round }),
            false => Err(format!("the nodes answered {answers:?}").into()),
        }
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        let mut release = call(&self.release, &held.names);
        release.arg(&held.round).arg("").arg(500).arg(100).arg(0);
        let was_held = |answer: &String| answer == "left";
        self.ask(&release, was_held).await?;
        Ok(())
    }

    fn can_wait(&self) -> bool {
        false
    }
}
