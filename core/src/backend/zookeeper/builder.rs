//! Settings of a `ZooKeeper` backend, and connecting with them.

use std::fmt;
use std::time::Duration;

use super::current_session::CurrentSession;
use super::error::not_connected;
#[cfg(feature = "zookeeper-tls")]
use super::tls;
use super::{ZooKeeper, url};
use crate::backend::ConnectError;
#[cfg(feature = "zookeeper-tls")]
use crate::backend::certificates::Certificates;

/// How to connect to an ensemble. Made by [`ZooKeeper::builder`].
///
/// # Default
///
/// | option | value |
/// |---|---|
/// | [`session_timeout`](Self::session_timeout) | 10 s |
/// | [`digest`](Self::digest) | what the URL says |
/// | [`share_with`](Self::share_with) | nobody; everybody without credentials |
/// | `authorities` | those that the system trusts |
/// | `client_certificate` | none |
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct ZooKeeperBuilder {
    session_timeout: Option<Duration>,
    digest: Option<(String, String)>,
    others: Vec<(String, String)>,
    #[cfg(feature = "zookeeper-tls")]
    certificates: Certificates,
}

impl ZooKeeperBuilder {
    /// The session timeout to ask for: how long after a crash, or without a way to the servers, all locks of this
    /// manager stay taken, and from which all its leases follow. The server grants between 2 and 20 of its ticks.
    /// Lower its `maxSessionTimeout` only when no session with a longer one lives: on its next connection the server would
    /// end it sooner, and leases would be counted by what was granted first.
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

    /// Trusts servers whose certificates these authorities have signed, and no others. As PEM, with any number of
    /// certificates. For URLs with `zookeeper+tls://`.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::fs::read_to_string;
    ///
    /// use leasehold::LockManager;
    /// use leasehold::backend::zookeeper::ZooKeeper;
    ///
    /// let zookeeper = ZooKeeper::builder()
    ///     .authorities(read_to_string("authorities.pem")?)
    ///     .client_certificate(read_to_string("client.pem")?, read_to_string("client.key")?)
    ///     .connect("zookeeper+tls://a:2281,b:2281,c:2281/locks")
    ///     .await?;
    /// let locks = LockManager::new(zookeeper);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "zookeeper-tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "zookeeper-tls")))]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        self.certificates.authorities = Some(pem.into());
        self
    }

    /// Shows servers that ask for it this certificate, followed by those between it and its authority, all as PEM.
    /// The private key is PEM without a password. For URLs with `zookeeper+tls://`.
    #[cfg(feature = "zookeeper-tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "zookeeper-tls")))]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        self.certificates.client = Some((certificate.into(), key.into()));
        self
    }

    /// Connects to the servers at `url`; see [`ZooKeeper::connect`].
    ///
    /// # Errors
    ///
    /// As [`ZooKeeper::connect`], and [`ConnectError::Certificates`] if there are some and `url` does not ask for TLS.
    pub async fn connect(self, url: &str) -> Result<ZooKeeper, ConnectError> {
        let mut settings = url::read(url)?;
        if let Some(timeout) = self.session_timeout {
            settings.session_timeout = timeout;
        }
        if let Some(digest) = self.digest {
            settings.digest = Some(digest);
        }
        settings.others = self.others;
        #[cfg(feature = "zookeeper-tls")]
        if settings.is_secure {
            settings.tls = Some(tls::read(&self.certificates)?);
        } else if !self.certificates.is_empty() {
            return Err(ConnectError::certificates(
                "they are for TLS, which the URL does not ask for; begin it with `zookeeper+tls://`",
            ));
        }
        let (address, is_secure) = (settings.address(), settings.is_secure);
        match CurrentSession::connect(settings).await {
            Ok(link) => Ok(ZooKeeper::new(link)),
            Err(error) => Err(not_connected(&error, &address, is_secure).await),
        }
    }
}

/// Without what proves who one is: the id of a `digest` is a hash of a password.
impl fmt::Debug for ZooKeeperBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.others.iter().map(|(scheme, _)| scheme);
        let mut shown = f.debug_struct("ZooKeeperBuilder");
        shown
            .field("session_timeout", &self.session_timeout)
            .field("user", &self.digest.as_ref().map(|(user, _)| user))
            .field("shared_with", &schemes.collect::<Vec<_>>());
        #[cfg(feature = "zookeeper-tls")]
        shown.field("certificates", &self.certificates);
        shown.finish_non_exhaustive()
    }
}

impl ZooKeeper {
    /// Connects to the servers at `url`: `zookeeper://user:password@a:2181,b:2181/locks`. User and password, ports and
    /// the folder may be left out; the folder is made if it is not there.
    ///
    /// `zookeeper+tls://a:2281,b:2281/locks` does so over TLS, with the feature `zookeeper-tls` and the authorities that
    /// the system trusts (`SSL_CERT_FILE` names others); the ports are the servers' `secureClientPort`. For
    /// certificates of your own, see [`ZooKeeperBuilder`].
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says whether the URL, the way to the servers or the credentials are wrong, or the certificates, and what to do.
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
