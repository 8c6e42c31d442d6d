use std::time::Duration;

use super::failure::not_connected;
use super::link::Link;
use super::{ZooKeeper, url};
use crate::backend::ConnectError;

/// How to connect to an ensemble. Made by [`ZooKeeper::builder`].
///
/// # Default
///
/// | option | value |
/// |---|---|
/// | [`session_timeout`](Self::session_timeout) | 10 s |
/// | [`digest`](Self::digest) | what the URL says |
/// | [`share_with`](Self::share_with) | nobody; everybody without credentials |
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct ZooKeeperBuilder {
    session_timeout: Option<Duration>,
    digest: Option<(String, String)>,
    others: Vec<(String, String)>,
}

impl ZooKeeperBuilder {
    /// The session timeout to ask for: how long after a crash, or without a way to the servers, all locks of this
    /// manager stay taken, and from which all its leases follow. The server grants between 2 and 20 of its ticks.
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = Some(timeout);
        self
    }

    /// Authenticates with the scheme `digest`, and gives all nodes that are made to this user alone.
    pub fn digest(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.digest = Some((user.into(), password.into()));
        self
    }

    /// Gives all rights on the nodes that are made to a further identity, as in `("ip", "10.0.0.0/8")` or
    /// `("digest", "user:hash")`. May be called more than once. `("world", "anyone")` is everybody.
    pub fn share_with(mut self, scheme: impl Into<String>, id: impl Into<String>) -> Self {
        self.others.push((scheme.into(), id.into()));
        self
    }

    /// Connects to the servers at `url`; see [`ZooKeeper::connect`].
    ///
    /// # Errors
    ///
    /// As [`ZooKeeper::connect`].
    pub async fn connect(self, url: &str) -> Result<ZooKeeper, ConnectError> {
        let mut settings = url::read(url)?;
        if let Some(timeout) = self.session_timeout {
            settings.session_timeout = timeout;
        }
        if let Some(digest) = self.digest {
            settings.digest = Some(digest);
        }
        settings.others = self.others;
        Ok(ZooKeeper::new(
            Link::connect(settings)
                .await
                .map_err(|error| not_connected(&error))?,
        ))
    }
}

impl ZooKeeper {
    /// Connects to the servers at `url`: `zookeeper://user:password@a:2181,b:2181/locks`. User and password, ports and
    /// the folder may be left out; the folder is made if it is not there.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says whether the URL, the way to the servers or the credentials are wrong, and what to do.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// use leasehold::LockManager;
    /// use leasehold::backend::zookeeper::ZooKeeper;
    ///
    /// let locks = LockManager::new(ZooKeeper::connect("zookeeper://a:2181,b:2181,c:2181/locks").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::builder().connect(url).await
    }

    /// Connects with other options.
    pub fn builder() -> ZooKeeperBuilder {
        ZooKeeperBuilder::default()
    }
}
