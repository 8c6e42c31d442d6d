//! The proxy that a test uses.

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

/// The timeout for events that should happen soon.
const PATIENCE: Duration = Duration::from_secs(60);

/// A proxy on a free port of 127.0.0.1, in front of a server on another port. All its connections end when it is
/// dropped.
///
/// At its start it forwards everything. New rules apply to later messages on old and new connections.
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
    /// Returns [`ProxyError::Listen`] if no port is free.
    #[allow(clippy::unused_async, reason = "it needs a runtime, and shows it")]
    pub async fn start(server_port: u16) -> Result<Self, ProxyError> {
        Self::with(server_port, Framing::Resp)
    }

    /// Starts a proxy for a stream of any kind, such as a replication link or another database. A message is the data
    /// of one read, and does not have a name or a reply.
    ///
    /// # Errors
    ///
    /// Returns [`ProxyError::Listen`] if no port is free.
    #[allow(clippy::unused_async, reason = "it needs a runtime, and shows it")]
    pub async fn start_bytes(server_port: u16) -> Result<Self, ProxyError> {
        Self::with(server_port, Framing::Bytes)
    }

    fn with(server_port: u16, framing: Framing) -> Result<Self, ProxyError> {
        let port = Port::reserve()?;
        let shared = Arc::new(Shared::new(framing, server_port));
        let (wanted, wanted_there) = watch::channel(true);
        let (open_there, open) = watch::channel(true);
        let doorkeeper = Acceptor {
            shared: Arc::clone(&shared),
            address: port.address(),
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

    /// Returns its port for clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Connects later clients to another server, such as a new primary. Existing connections stay.
    pub fn redirect(&self, server_port: u16) {
        self.shared.redirect(server_port);
    }

    /// Removes all rules, delivers held messages, and accepts connections. Connections that have lost a message stay
    /// silent.
    pub fn pass(&self) {
        *self.shared.rules.lock() = Rules::default();
        self.shared.end_hold(true);
        self.wanted.send_replace(true);
    }

    /// Sets what happens to all messages in a direction. Messages that are already held stay held.
    pub fn set(&self, direction: Direction, traffic: Traffic) {
        self.shared.rules.lock().set(direction, traffic);
    }

    /// Executes these requests, but loses their replies. A connection that has lost a reply is silent afterwards: its
    /// later requests are executed, too, and not answered.
    ///
    /// The reply to a subscription cannot be lost in this way.
    pub fn lose_replies(&self, which: Which) {
        self.shared.rules.lock().add(Fault::LoseReply, which);
    }

    /// Holds back these requests, and all later ones on the same connections. [`deliver_held`](Self::deliver_held)
    /// delivers them, even if the client has disconnected.
    pub fn hold_requests(&self, which: Which) {
        self.shared.rules.lock().add(Fault::Hold, which);
    }

    /// Cuts the connection before these requests arrive.
    pub fn cut_before(&self, which: Which) {
        self.shared.rules.lock().add(Fault::CutBefore, which);
    }

    /// Executes these requests, and cuts the connection instead of the reply.
    pub fn cut_after(&self, which: Which) {
        self.shared.rules.lock().add(Fault::CutAfter, which);
    }

    /// Loses each push whose number is a multiple of `every`, or none if `every` is 0.
    pub fn lose_pushes(&self, every: u64) {
        self.shared.rules.lock().lose_pushes(every);
    }

    /// Applies random faults to later messages.
    pub fn chaos(&self, seed: u64, plan: ChaosPlan) {
        self.shared.rules.lock().chaos = Some((seed, plan));
    }

    /// Stops holding back, and delivers held messages. Waits until the server has answered them, or has closed their
    /// connections.
    ///
    /// # Errors
    ///
    /// Returns [`ProxyError::NotSo`] after a minute.
    pub async fn deliver_held(&self) -> Result<(), ProxyError> {
        self.shared.end_hold(true);
        let done = |stats: &Stats| stats.held == 0 && stats.delivering == 0;
        self.until("what was held has been answered", done).await?;
        Ok(())
    }

    /// Stops holding back, and discards held messages.
    pub fn discard_held(&self) {
        self.shared.end_hold(false);
    }

    /// Loses all further messages on the current connections, and their ends, as a firewall does that has forgotten them.
    /// New connections work.
    pub fn silence(&self) {
        self.shared.silence();
    }

    /// Cuts all connected clients. Messages that they have sent still arrive, even if they are held.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Refuses new connections, as if no server were running. Existing connections stay open.
    ///
    /// # Errors
    ///
    /// Returns [`ProxyError::NotSo`] after a minute.
    pub async fn refuse(&self) -> Result<(), ProxyError> {
        self.set_listening(false, "connections are refused").await
    }

    /// Accepts new connections again.
    ///
    /// # Errors
    ///
    /// Returns [`ProxyError::NotSo`] after a minute.
    pub async fn accept(&self) -> Result<(), ProxyError> {
        self.set_listening(true, "connections are accepted").await
    }

    async fn set_listening(&self, open: bool, what: &str) -> Result<(), ProxyError> {
        self.wanted.send_replace(open);
        let mut watch = self.open.clone();
        let so = timeout(PATIENCE, watch.wait_for(|is| *is == open)).await;
        so.map(drop).map_err(|_| self.not_so(what))
    }

    /// Returns its statistics.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Waits until `so` returns `true` for its statistics.
    ///
    /// # Errors
    ///
    /// Returns [`ProxyError::NotSo`] with `what` after a minute.
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
