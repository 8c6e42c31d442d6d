//! What kind of `ZooKeeper` to start.

use std::time::Duration;

use super::error::ServerError;
use super::settings::Tls;
use super::zookeeper::ZooKeeperServer;
use super::zookeeper_ensemble::ZooKeeperEnsemble;
use super::zookeeper_settings::Settings;

/// A `ZooKeeper` to be. Without further words: a tick of 200 ms, sessions of 400 ms to 20 s, followers that are given
/// up after 5 ticks, and nothing synced to disk.
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
    /// [`ServerError::Program`] if there is none to start, and the others if it does not come up.
    pub async fn start() -> Result<Self, ServerError> {
        Self::builder().start().await
    }

    /// Says what kind of server, or ensemble, to start.
    pub fn builder() -> ZooKeeperBuilder {
        ZooKeeperBuilder::default()
    }
}

impl ZooKeeperBuilder {
    /// The unit of all its times: leaders ping followers each half of it, and sessions end with one.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.settings.tick = tick;
        self
    }

    /// The longest session that a client may ask for.
    pub fn longest_session(mut self, timeout: Duration) -> Self {
        self.settings.longest_session = timeout;
        self
    }

    /// After how many ticks of silence leader and follower give each other up.
    pub fn sync_limit(mut self, ticks: u32) -> Self {
        self.settings.sync_limit = ticks;
        self
    }

    /// Opens a second port for clients, which speaks TLS, with certificates of its own.
    pub fn tls(mut self) -> Self {
        self.settings.tls = Some(Tls::ServerOnly);
        self
    }

    /// As [`tls`](Self::tls), and that port refuses clients without a certificate.
    pub fn mutual_tls(mut self) -> Self {
        self.settings.tls = Some(Tls::Mutual);
        self
    }

    /// Starts one server and waits until it serves.
    ///
    /// # Errors
    ///
    /// [`ServerError::Program`] if there is none to start, and the others if it does not come up.
    pub async fn start(self) -> Result<ZooKeeperServer, ServerError> {
        let certificates = self.settings.certificates()?;
        let server = ZooKeeperServer::prepare(self.settings, certificates, None)?;
        server.launch()?;
        server.until_ready().await?;
        Ok(server)
    }

    /// Starts three servers that elect a leader, and waits until all serve.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn start_three(self) -> Result<ZooKeeperEnsemble, ServerError> {
        ZooKeeperEnsemble::start_with(&self.settings).await
    }
}
