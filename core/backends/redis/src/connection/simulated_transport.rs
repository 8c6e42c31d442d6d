//! Connections over a simulated network, for deterministic tests.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection to the server.
///
/// **Unstable**: only for the simulation in this repository, and not covered by semantic versioning.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// A connection that is being opened.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Opens a connection to the server.
type StreamConnector = dyn Fn() -> Connecting + Send + Sync;

/// The address and the network of a simulated server.
#[derive(Clone)]
pub(crate) struct SimulatedTransport {
    connector: Arc<StreamConnector>,
    client: redis::Client,
}

impl SimulatedTransport {
    /// Creates a simulated server. `client` contains the settings of the connection, and an address that this transport
    /// ignores.
    pub(crate) fn new(
        client: redis::Client,
        connector: impl Fn() -> Connecting + Send + Sync + 'static,
    ) -> Self {
        Self {
            connector: Arc::new(connector),
            client,
        }
    }

    /// Returns the settings of its connections.
    pub(crate) fn client(&self) -> redis::Client {
        self.client.clone()
    }

    pub(crate) async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        (self.connector)().await
    }
}

impl fmt::Debug for SimulatedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedTransport").finish_non_exhaustive()
    }
}
