//! The state that a proxy and its connections share.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::gate::{Gate, Ticket};
use super::rules::Rules;
use super::stats::Stats;

/// How a stream is split into messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// By the protocol of Redis.
    Resp,
    /// By the reads.
    Bytes,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) framing: Framing,
    server_port: AtomicU16,
    /// Also locked while the gate changes.
    pub(super) rules: Mutex<Rules>,
    pub(super) gate: Gate,
    stats: Arc<watch::Sender<Stats>>,
    /// Cuts all current connections.
    knife: Mutex<CancellationToken>,
    /// The connections with a smaller number are silent.
    silent_below: AtomicU64,
}

impl Shared {
    pub(super) fn new(framing: Framing, server_port: u16) -> Self {
        Self {
            framing,
            server_port: AtomicU16::new(server_port),
            rules: Mutex::default(),
            gate: Gate::default(),
            stats: Arc::default(),
            knife: Mutex::default(),
            silent_below: AtomicU64::new(0),
        }
    }

    /// Returns the address of the server for new connections.
    pub(super) fn server(&self) -> SocketAddr {
        let port = self.server_port.load(Ordering::Acquire);
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    pub(super) fn redirect(&self, server_port: u16) {
        self.server_port.store(server_port, Ordering::Release);
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Stats)) {
        self.stats.send_modify(change);
    }

    pub(super) fn stats(&self) -> Stats {
        *self.stats.borrow()
    }

    pub(super) fn watch_stats(&self) -> watch::Receiver<Stats> {
        self.stats.subscribe()
    }

    pub(super) fn ticket(&self) -> Ticket {
        Ticket::new(&self.stats)
    }

    /// Returns a token that cuts a new connection, together with the others or alone.
    pub(super) fn new_knife(&self) -> CancellationToken {
        self.knife.lock().child_token()
    }

    pub(super) fn cut(&self) {
        let all = std::mem::take(&mut *self.knife.lock());
        all.cancel();
    }

    /// Makes all current connections silent.
    pub(super) fn silence(&self) {
        let next = self.stats().connections;
        self.silent_below.store(next, Ordering::Release);
    }

    /// Returns whether the connection with this number is silent.
    pub(super) fn is_silent(&self, number: u64) -> bool {
        number < self.silent_below.load(Ordering::Acquire)
    }

    pub(super) fn end_hold(&self, let_go: bool) {
        let mut rules = self.rules.lock();
        rules.let_go();
        self.gate.end_hold(let_go);
    }
}
