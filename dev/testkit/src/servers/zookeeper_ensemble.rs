//! Three test `ZooKeeper` servers.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::error::ServerError;
use super::zookeeper::ZooKeeperServer;
use super::zookeeper_settings::Settings;
use crate::port::Port;
use crate::proxy::{Direction, Proxy, Traffic};

const NODES: usize = 3;
/// The timeout of an election. Servers pause between their attempts, and may miss each other several times.
const PATIENCE: Duration = Duration::from_secs(300);

/// An ensemble of three servers. Each server connects to the leader ports of the others through separate proxies. So a
/// follower can be disconnected from its leader while clients stay connected to it.
#[derive(Debug)]
#[must_use = "the servers are killed when this is dropped"]
pub struct ZooKeeperEnsemble {
    nodes: Vec<ZooKeeperServer>,
    /// The sources and targets of the proxies.
    links: Vec<(usize, usize, Proxy)>,
    _ports: Vec<[Port; 2]>,
}

impl ZooKeeperEnsemble {
    pub(super) async fn start_with(settings: &Settings) -> Result<Self, ServerError> {
        let ports = || Ok([Port::reserve()?, Port::reserve()?]);
        let ports: std::io::Result<Vec<[Port; 2]>> = (0..NODES).map(|_| ports()).collect();
        let ports = ports.map_err(ServerError::Port)?;
        let certificates = settings.certificates()?;
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        for from in 0..NODES {
            let mut peers = String::new();
            for (to, [quorum, election]) in ports.iter().enumerate() {
                let mut quorum = quorum.number();
                if to != from {
                    let link = Proxy::start_bytes(quorum).await?;
                    quorum = link.port();
                    links.push((from, to, link));
                }
                peers += &format!(
                    "server.{}=127.0.0.1:{quorum}:{}\n",
                    to + 1,
                    election.number()
                );
            }
            let node = ZooKeeperServer::prepare(
                settings.clone(),
                certificates.clone(),
                Some((from + 1, peers)),
            )?;
            node.launch()?;
            nodes.push(node);
        }
        for node in &nodes {
            node.until_ready().await?;
        }
        Ok(Self {
            nodes,
            links,
            _ports: ports,
        })
    }

    /// Returns its servers, numbered from 0.
    pub fn nodes(&self) -> &[ZooKeeperServer] {
        &self.nodes
    }

    /// Returns the addresses of all servers: `127.0.0.1:1,127.0.0.1:2,127.0.0.1:3`.
    #[must_use]
    pub fn addresses(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(ZooKeeperServer::address).collect();
        addresses.join(",")
    }

    /// Waits for a leader, and returns its number.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Silent`] if there is no leader within five minutes.
    pub async fn leader(&self) -> Result<usize, ServerError> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            for (number, node) in self.nodes.iter().enumerate() {
                if node.role().await.is_ok_and(|role| role == "leader") {
                    return Ok(number);
                }
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err(ServerError::Silent {
            waited: begin.elapsed(),
            why: "no server leads".to_owned(),
            log: String::new(),
        })
    }

    /// Returns the number of a follower.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`leader`](Self::leader).
    pub async fn follower(&self) -> Result<usize, ServerError> {
        Ok((self.leader().await? + 1) % NODES)
    }

    /// Disconnects this server from the servers that it follows. It notices the silence of its leader after the sync
    /// limit, and serves its clients until then.
    pub fn cut_off(&self, number: usize) {
        for link in self.links_of(number) {
            link.set(Direction::ToServer, Traffic::Drop);
            link.set(Direction::ToClient, Traffic::Drop);
        }
    }

    /// Reconnects this server to its leader.
    pub fn reconnect(&self, number: usize) {
        for link in self.links_of(number) {
            link.pass();
            link.cut();
        }
    }

    fn links_of(&self, number: usize) -> impl Iterator<Item = &Proxy> {
        let own = self.links.iter().filter(move |link| link.0 == number);
        own.map(|(_, _, link)| link)
    }
}
