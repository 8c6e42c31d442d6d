//! The proxy, as a test holds it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::chaos::ChaosPlan;
use super::error::ProxyError;
use super::listener::Acceptor;
use super::rules::{Direction, Fault, Rules, Traffic};
use super::shared::{Framing, Shared};
use super::stats::Stats;
use super::which::Which;
use crate::port::Port;

/// How long we wait for what should come about soon.
const PATIENCE: Duration = Duration::from_secs(10);

/// A proxy on a free port of 127.0.0.1, in front of a server on another. All
/// its connections end when it is dropped.
///
/// It starts by forwarding everything. New rules are for messages that come
/// from then on, on old connections and new ones.
#[derive(Debug)]
#[must_use = "the proxy ends when this is dropped"]
pub struct Proxy {
    shared: Arc<Shared>,
    port: Port,
    wanted: watch::Sender<bool>,
    open: watch::Receiver<bool>,
    doorkeeper: AbortHandle,
}

impl Proxy {
    /// Starts a proxy for a Redis server.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Listen`] if there is no free port.
    #[allow(clippy::unused_async, reason = "it needs a runtime, and shows it")]
    pub async fn start(server_port: u16) -> Result<Self, ProxyError> {
        Self::with(server_port, Framing::Resp)
    }

    /// Starts a proxy for a stream of any kind, a replication link or another
    /// database: a message is what comes at once, and has no name and no reply.
    ///
    /// # Errors
    ///
    /// [`ProxyError::Listen`] if there is no free port.
    #[allow(clippy::unused_async, reason = "it needs a runtime, and shows it")]
    pub async fn start_bytes(server_port: u16) -> Result<Self, ProxyError> {
        Self::with(server_port, Framing::Bytes)
    }

    fn with(server_port: u16, framing: Framing) -> Result<Self, ProxyError> {
        let port = Port::reserve()?;
        let shared = Arc::new(Shared::new(framing));
        let (wanted, wanted_there) = watch::channel(true);
        let (open_there, open) = watch::channel(true);
        let doorkeeper = Acceptor {
            shared: Arc::clone(&shared),
            address: port.address(),
            server: SocketAddr::from((Ipv4Addr::LOCALHOST, server_port)),
            wanted: wanted_there,
            open: open_there,
        };
        let listener = doorkeeper.listen()?;
        let task = tokio::spawn(doorkeeper.run(listener));
        Ok(Self {
            shared,
            port,
            wanted,
            open,
            doorkeeper: task.abort_handle(),
        })
    }

    /// Its port, to be given to clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Forgets all rules, lets go what is held, and accepts connections. What
    /// has lost a message stays mute.
    pub fn pass(&self) {
        *self.shared.rules.lock() = Rules::default();
        self.shared.end_hold(true);
        self.wanted.send_replace(true);
    }

    /// What happens to all that comes in a direction. What is held already
    /// stays held.
    pub fn set(&self, direction: Direction, traffic: Traffic) {
        self.shared.rules.lock().set(direction, traffic);
    }

    /// These requests are done, and their replies are lost. A connection that
    /// has lost a reply is mute from then on: what else it asks is done, too,
    /// and not answered.
    ///
    /// A subscription's reply cannot be lost in this way.
    pub fn lose_replies(&self, which: Which) {
        self.shared.rules.lock().add(Fault::LoseReply, which);
    }

    /// Holds these requests back, and all that follow on the same connections.
    /// They arrive with [`deliver_held`](Self::deliver_held), even if the client
    /// has gone by then.
    pub fn hold_requests(&self, which: Which) {
        self.shared.rules.lock().add(Fault::Hold, which);
    }

    /// Cuts the connection in the place of these requests.
    pub fn cut_before(&self, which: Which) {
        self.shared.rules.lock().add(Fault::CutBefore, which);
    }

    /// Has these requests done, and cuts the connection in the place of the
    /// reply.
    pub fn cut_after(&self, which: Which) {
        self.shared.rules.lock().add(Fault::CutAfter, which);
    }

    /// Loses every second push, or every so-many-th; none if 0.
    pub fn lose_pushes(&self, every: u64) {
        self.shared.rules.lock().lose_pushes(every);
    }

    /// Lets chance decide on each message from now on.
    pub fn chaos(&self, seed: u64, plan: ChaosPlan) {
        self.shared.rules.lock().chaos = Some((seed, plan));
    }

    /// Stops holding back, delivers what was held, and waits until the server
    /// has answered it, or has ended the connections it came on.
    ///
    /// # Errors
    ///
    /// [`ProxyError::NotSo`] if it takes longer than 10 s.
    pub async fn deliver_held(&self) -> Result<(), ProxyError> {
        self.shared.end_hold(true);
        let done = |stats: &Stats| stats.held == 0 && stats.delivering == 0;
        self.until("what was held has been answered", done).await?;
        Ok(())
    }

    /// Stops holding back, and throws away what was held.
    pub fn discard_held(&self) {
        self.shared.end_hold(false);
    }

    /// Cuts all clients off that are connected now. What they have sent still
    /// arrives, also if it is held.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Refuses new connections, as if nothing ran here. What is connected stays.
    ///
    /// # Errors
    ///
    /// [`ProxyError::NotSo`] if it takes longer than 10 s.
    pub async fn refuse(&self) -> Result<(), ProxyError> {
        self.set_listening(false, "connections are refused").await
    }

    /// Accepts new connections again.
    ///
    /// # Errors
    ///
    /// [`ProxyError::NotSo`] if it takes longer than 10 s.
    pub async fn accept(&self) -> Result<(), ProxyError> {
        self.set_listening(true, "connections are accepted").await
    }

    async fn set_listening(&self, open: bool, what: &str) -> Result<(), ProxyError> {
        self.wanted.send_replace(open);
        let mut watch = self.open.clone();
        let so = timeout(PATIENCE, watch.wait_for(|is| *is == open)).await;
        so.map(drop).map_err(|_| self.not_so(what))
    }

    /// What it has seen.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Waits until what it has seen is as wanted.
    ///
    /// # Errors
    ///
    /// [`ProxyError::NotSo`], with `what`, if it takes longer than 10 s.
    pub async fn until(
        &self,
        what: &str,
        so: impl Fn(&Stats) -> bool,
    ) -> Result<Stats, ProxyError> {
        let mut watch = self.shared.watch_stats();
        match timeout(PATIENCE, watch.wait_for(|stats| so(stats))).await {
            Ok(Ok(stats)) => Ok(*stats),
            Ok(Err(_)) | Err(_) => Err(self.not_so(what)),
        }
    }

    fn not_so(&self, what: &str) -> ProxyError {
        ProxyError::NotSo {
            what: what.to_owned(),
            waited: PATIENCE,
            stats: Box::new(self.stats()),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.doorkeeper.abort();
    }
}
