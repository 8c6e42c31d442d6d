//! The builder of a `ZooKeeper` backend, which connects with its settings.

use std::fmt;
use std::time::Duration;

use super::current_session::CurrentSession;
use super::error::not_connected;
#[cfg(feature = "tls-rustls")]
use super::tls;
use super::{ZooKeeper, url};
use leasehold_core::Error;
use leasehold_core::backend::ConnectError;
#[cfg(feature = "tls-rustls")]
use leasehold_core::backend::support::Certificates;

/// Configures the connection to an ensemble. Created by [`ZooKeeper::builder`].
///
/// # Default
///
/// | option | value |
/// |---|---|
/// | [`session_timeout`](Self::session_timeout) | 10 s |
/// | [`digest`](Self::digest) | as in the URL |
/// | [`share_with`](Self::share_with) | no other identity; without credentials, all users |
/// | `authorities` | the authorities that the system trusts |
/// | `client_certificate` | none |
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct ZooKeeperBuilder {
    session_timeout: Option<Duration>,
    digest: Option<(String, String)>,
    others: Vec<(String, String)>,
    #[cfg(feature = "tls-rustls")]
    certificates: Certificates,
}

impl ZooKeeperBuilder {
    /// Sets the session timeout to request. After a crash, or without a connection, all locks of this manager stay
    /// locked for this time. The timeout also determines the manager's leases. The server grants between 2 and 20 of
    /// its ticks. Do not lower the server's `maxSessionTimeout` while a session with a longer timeout is open. When
    /// that session reconnects, the server would shorten the session's timeout, and could end the session earlier than
    /// its leases.
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = Some(timeout);
        self
    }

    /// Authenticates with the scheme `digest`, and gives permissions on all created nodes to this user only.
    pub fn digest(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.digest = Some((user.into(), password.into()));
        self
    }

    /// Gives another identity, such as `("ip", "10.0.0.0/8")` or `("digest", "user:hash")`, all permissions on the
    /// created nodes. You may call this more than once. `("world", "anyone")` means all users.
    pub fn share_with(mut self, scheme: impl Into<String>, id: impl Into<String>) -> Self {
        self.others.push((scheme.into(), id.into()));
        self
    }

    /// Trusts only servers with a certificate that one of these authorities has signed. The format is PEM, with any
    /// number of certificates. This applies to URLs with `zookeeper+tls://`.
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
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
    pub fn authorities(mut self, pem: impl Into<String>) -> Self {
        self.certificates.authorities = Some(pem.into());
        self
    }

    /// Presents this certificate, followed by its intermediates, to servers that request one. The format of the
    /// certificates is PEM. The private key is PEM without a password. This applies to URLs with `zookeeper+tls://`.
    #[cfg(feature = "tls-rustls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls-rustls")))]
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
    /// Returns the errors of [`ZooKeeper::connect`]. Also returns [`ConnectError::Certificates`] if there are
    /// certificates and `url` does not use TLS.
    pub async fn connect(self, url: &str) -> Result<ZooKeeper, Error> {
        Ok(self.connect_url(url).await?)
    }

    async fn connect_url(self, url: &str) -> Result<ZooKeeper, ConnectError> {
        let mut settings = url::read(url)?;
        if let Some(timeout) = self.session_timeout {
            settings.session_timeout = timeout;
        }
        if let Some(digest) = self.digest {
            settings.digest = Some(digest);
        }
        settings.others = self.others;
        #[cfg(feature = "tls-rustls")]
        if settings.is_secure {
            settings.tls = Some(tls::read(&self.certificates)?);
        } else if !self.certificates.is_empty() {
            return Err(ConnectError::certificates(
                "certificates need TLS; use a URL that begins with `zookeeper+tls://`",
            ));
        }
        let (address, is_secure) = (settings.address(), settings.is_secure);
        match CurrentSession::connect(settings).await {
            Ok(link) => Ok(ZooKeeper::new(link)),
            Err(error) => Err(not_connected(&error, &address, is_secure).await),
        }
    }
}

/// Omits credentials: the id of a `digest` is a hash of a password.
impl fmt::Debug for ZooKeeperBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.others.iter().map(|(scheme, _)| scheme);
        let mut shown = f.debug_struct("ZooKeeperBuilder");
        shown
            .field("session_timeout", &self.session_timeout)
            .field("user", &self.digest.as_ref().map(|(user, _)| user))
            .field("shared_with", &schemes.collect::<Vec<_>>());
        #[cfg(feature = "tls-rustls")]
        shown.field("certificates", &self.certificates);
        shown.finish_non_exhaustive()
    }
}

impl ZooKeeper {
    /// Connects to the servers at `url`: `zookeeper://user:password@a:2181,b:2181/locks`. User and password, ports and
    /// the folder are optional. The client creates the folder if the folder does not exist.
    ///
    /// `zookeeper+tls://a:2281,b:2281/locks` uses TLS, with the feature `tls-rustls` and the authorities that the
    /// system trusts (`SSL_CERT_FILE` overrides them). The ports are the servers' `secureClientPort`. For your own
    /// certificates see [`ZooKeeperBuilder`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`], which identifies the cause (the URL, the network, the credentials or the
    /// certificates) and the remedy.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections that it opened.
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
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::builder().connect(url).await
    }

    /// Returns a builder for setting options.
    pub fn builder() -> ZooKeeperBuilder {
        ZooKeeperBuilder::default()
    }
}
