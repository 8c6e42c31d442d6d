//! A connection of a client, with its connection to the server.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::expected::{Exchange, Expected, Kind};
use super::shared::{Framing, Shared};
use crate::resp::Command;

#[derive(Debug)]
pub(super) struct Link {
    pub(super) shared: Arc<Shared>,
    /// The number of the connection.
    pub(super) number: u64,
    /// Cuts the connection to the client.
    pub(super) knife: CancellationToken,
    /// Set when the client has disconnected, or was cut.
    pub(super) client_gone: CancellationToken,
    pub(super) expected: Mutex<Expected>,
}

impl Link {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let mut number = 0;
        shared.count(|stats| {
            number = stats.connections;
            stats.connections += 1;
            stats.open += 1;
        });
        Self {
            knife: shared.new_knife(),
            shared,
            number,
            client_gone: CancellationToken::new(),
            expected: Mutex::default(),
        }
    }

    /// Parses a message of the client.
    pub(super) fn command(&self, bytes: &[u8]) -> Command {
        match self.shared.framing {
            Framing::Resp => Command::read(bytes),
            Framing::Bytes => Command::new::<&str>([]),
        }
    }

    /// Parses a message of the server. Returns its kind, and the plan for a reply.
    pub(super) fn expect(&self, bytes: &[u8]) -> (Kind, Exchange) {
        let mut expected = self.expected.lock();
        let kind = expected.kind(bytes);
        let exchange = match kind {
            Kind::Reply => expected.take(),
            Kind::Push | Kind::Acknowledgement => Exchange::default(),
        };
        (kind, exchange)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.count(|stats| stats.open -= 1);
    }
}
