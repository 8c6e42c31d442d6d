//! Builds `ZooKeeper` servers.

use std::time::Duration;

use super::error::ServerError;
use super::settings::Tls;
use super::zookeeper::ZooKeeperServer;
use super::zookeeper_ensemble::ZooKeeperEnsemble;
use super::zookeeper_settings::Settings;

/// A builder for a `ZooKeeper` server. The defaults are a tick of 200 ms, sessions of 400 ms to 20 s, and a sync limit
/// of 5 ticks. The server does not sync to disk.
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing itself: call `start`"]
pub struct ZooKeeperBuilder {
    settings: Settings,
}

impl ZooKeeperServer {
    /// Starts a server with the defaults of [`builder`](Self::builder).
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start() -> Result<Self, ServerError> {
        Self::builder().start().await
    }

    /// Returns a builder for a server or an ensemble.
    pub fn builder() -> ZooKeeperBuilder {
        ZooKeeperBuilder::default()
    }
}

impl ZooKeeperBuilder {
    /// Sets the unit of all its durations. Leaders ping followers twice per tick, and sessions end at a tick.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.settings.tick = tick;
        self
    }

    /// Sets the longest session that a client may request.
    pub fn longest_session(mut self, timeout: Duration) -> Self {
        self.settings.longest_session = timeout;
        self
    }

    /// Sets the number of ticks after which leader and follower disconnect if they get no messages.
    pub fn sync_limit(mut self, ticks: u32) -> Self {
        self.settings.sync_limit = ticks;
        self
    }

    /// Opens a second port for clients with TLS, with its own certificates.
    pub fn tls(mut self) -> Self {
        self.settings.tls = Some(Tls::ServerOnly);
        self
    }

    /// Like [`tls`](Self::tls), and that port refuses clients without a certificate.
    pub fn mutual_tls(mut self) -> Self {
        self.settings.tls = Some(Tls::Mutual);
        self
    }

    /// Starts one server, and waits until it serves.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start(self) -> Result<ZooKeeperServer, ServerError> {
        let certificates = self.settings.certificates()?;
        let server = ZooKeeperServer::prepare(self.settings, certificates, None)?;
        server.launch()?;
        server.until_ready().await?;
        Ok(server)
    }

    /// Starts three servers that elect a leader, and waits until all of them serve.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn start_three(self) -> Result<ZooKeeperEnsemble, ServerError> {
        ZooKeeperEnsemble::start_with(&self.settings).await
    }
}
