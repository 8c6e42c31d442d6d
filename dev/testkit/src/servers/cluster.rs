//! A test Cluster.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::error::ServerError;
use super::redis::RedisServer;
use crate::resp::Value;

const MASTERS: usize = 3;
const SLOTS: usize = 16_384;
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(10);

/// The time after which a node without a reply is down, in milliseconds. Nodes that start learn of each other as fast.
const BROKEN: &str = "500";
/// The same while no test has broken a node. A busy machine may not run a node for half a second.
const CALM: &str = "60000";

/// Masters that share the slots, optionally each with a replica. After [`watch_closely`](Self::watch_closely), a replica
/// replaces a master that does not reply for half a second. The whole failover then takes two seconds.
#[derive(Debug)]
#[must_use = "the servers are killed when this is dropped"]
pub struct ClusterRedis {
    /// The initial masters, and then their replicas in the same order.
    members: Vec<Member>,
    masters: usize,
}

#[derive(Debug)]
struct Member {
    server: RedisServer,
    id: String,
}

impl ClusterRedis {
    /// Starts three masters, and waits until all of them serve.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RedisServer::start`], and [`ServerError::NotSo`] if the masters do not find each other.
    pub async fn start() -> Result<Self, ServerError> {
        Self::start_with(MASTERS).await
    }

    /// Like [`start`](Self::start), with another number of masters.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn start_with(masters: usize) -> Result<Self, ServerError> {
        Self::of(masters, masters).await
    }

    /// Like [`start`](Self::start), with a replica for each master.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn start_with_replicas() -> Result<Self, ServerError> {
        Self::of(MASTERS, MASTERS * 2).await
    }

    async fn of(masters: usize, count: usize) -> Result<Self, ServerError> {
        let mut members = Vec::new();
        for _ in 0..count {
            members.push(Member::start().await?);
        }
        let cluster = Self { members, masters };
        cluster.share_slots().await?;
        cluster.meet().await?;
        cluster
            .until("the Cluster serves", "cluster_state:ok")
            .await?;
        for (replica, master) in cluster.members.iter().skip(masters).zip(&cluster.members) {
            cluster.replicate(replica, master).await?;
        }
        cluster.node_timeout(CALM).await?;
        Ok(cluster)
    }

    /// From now on, the nodes replace a master that does not reply for half a second. To be called before a master is
    /// broken.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Client`] if a node does not reply.
    pub async fn watch_closely(&self) -> Result<(), ServerError> {
        self.node_timeout(BROKEN).await
    }

    async fn node_timeout(&self, millis: &str) -> Result<(), ServerError> {
        for member in &self.members {
            let set = ["CONFIG", "SET", "cluster-node-timeout", millis];
            member.server.client().await?.command(set).await?;
        }
        Ok(())
    }

    /// Returns a node: first the initial masters, and then their replicas in the same order.
    ///
    /// # Panics
    ///
    /// Panics if the number is too large.
    pub fn server(&self, number: usize) -> &RedisServer {
        &self.members[number].server
    }

    /// Returns the id of a node in the Cluster.
    ///
    /// # Panics
    ///
    /// Panics if the number is too large.
    #[must_use]
    pub fn id(&self, number: usize) -> &str {
        &self.members[number].id
    }

    /// Returns the addresses of the nodes: `127.0.0.1:37123,127.0.0.1:37124,…`
    #[must_use]
    pub fn hosts(&self) -> String {
        let ports = self.members.iter().map(|it| it.server.port());
        let hosts: Vec<_> = ports.map(|port| format!("127.0.0.1:{port}")).collect();
        hosts.join(",")
    }

    /// Returns the initial master of a slot.
    #[must_use]
    pub fn master_of(&self, slot: u16) -> usize {
        usize::from(slot) * self.masters / SLOTS
    }

    async fn share_slots(&self) -> Result<(), ServerError> {
        for (number, master) in self.members.iter().take(self.masters).enumerate() {
            let first = (number * SLOTS).div_ceil(self.masters).to_string();
            let last = (((number + 1) * SLOTS).div_ceil(self.masters) - 1).to_string();
            let epoch = (number + 1).to_string();
            let mut client = master.server.client().await?;
            let share = ["CLUSTER", "ADDSLOTSRANGE", &first, &last];
            client.command(share).await?;
            let epoch = ["CLUSTER", "SET-CONFIG-EPOCH", &epoch];
            client.command(epoch).await?;
        }
        Ok(())
    }

    async fn meet(&self) -> Result<(), ServerError> {
        // Each node meets each other one, which is faster than waiting for the gossip protocol.
        for (number, member) in self.members.iter().enumerate() {
            let mut client = member.server.client().await?;
            for other in self.members.iter().skip(number + 1) {
                let port = other.server.port().to_string();
                let meet = ["CLUSTER", "MEET", "127.0.0.1", &port];
                client.command(meet).await?;
            }
        }
        let known = format!("cluster_known_nodes:{}\r", self.members.len());
        self.until("the members know each other", &known).await
    }

    async fn replicate(&self, replica: &Member, master: &Member) -> Result<(), ServerError> {
        let mut client = replica.server.client().await?;
        client.command(["CLUSTER", "REPLICATE", &master.id]).await?;
        let mut client = master.server.client().await?;
        let begin = Instant::now();
        // A write would need a key of this master's slots. `WAIT` without a write also needs a replica that is in sync.
        while client.command(["WAIT", "1", "100"]).await? != Value::Int(1) {
            within(begin, "the replica follows", &replica.server)?;
            sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn until(&self, what: &str, sign: &str) -> Result<(), ServerError> {
        let begin = Instant::now();
        for member in &self.members {
            let mut client = member.server.client().await?;
            while !told(&client.command(["CLUSTER", "INFO"]).await?).contains(sign) {
                within(begin, what, &member.server)?;
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }
}

impl Member {
    async fn start() -> Result<Self, ServerError> {
        let settings = [
            ("--cluster-enabled", "yes"),
            ("--cluster-node-timeout", BROKEN),
            ("--cluster-replica-validity-factor", "0"),
            ("--repl-diskless-sync-delay", "0"),
        ];
        let server = settings
            .into_iter()
            .fold(RedisServer::builder(), |server, (name, value)| {
                server.arg(name).arg(value)
            });
        let server = server.start().await?;
        let id = server.client().await?.command(["CLUSTER", "MYID"]).await?;
        let id = told(&id).to_owned();
        Ok(Self { server, id })
    }
}

fn within(begin: Instant, what: &str, server: &RedisServer) -> Result<(), ServerError> {
    if begin.elapsed() <= PATIENCE {
        return Ok(());
    }
    Err(ServerError::NotSo {
        what: what.to_owned(),
        waited: begin.elapsed(),
        log: server.last_words(),
    })
}

fn told(value: &Value) -> &str {
    value.text().unwrap_or_default()
}
