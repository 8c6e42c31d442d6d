//! Which server is connected to, and with which certificates.

#[cfg(feature = "tls-rustls")]
use std::sync::Arc;

use redis::{Client, ConnectionAddr, ConnectionInfo, RedisResult};

#[cfg(feature = "tls-rustls")]
use crate::backend::certificates::Certificates;

/// A server, and what connections to it are made with.
#[derive(Clone)]
pub(crate) struct Target {
    client: Client,
    /// Those of a builder. A `Client` of the `redis` crate that is given certificates does not tell them, and opens the
    /// connection by itself: neither what it reads in one go nor how large a reply is would be bounded.
    #[cfg(feature = "tls-rustls")]
    certificates: Arc<Certificates>,
}

impl From<Client> for Target {
    fn from(client: Client) -> Self {
        Self {
            client,
            #[cfg(feature = "tls-rustls")]
            certificates: Arc::default(),
        }
    }
}

impl Target {
    pub(crate) fn open(info: ConnectionInfo) -> RedisResult<Self> {
        Client::open(info).map(Self::from)
    }

    #[cfg(feature = "tls-rustls")]
    pub(crate) fn with_certificates(self, certificates: &Arc<Certificates>) -> Self {
        Self {
            certificates: Arc::clone(certificates),
            ..self
        }
    }

    #[cfg(feature = "tls-rustls")]
    pub(crate) fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn info(&self) -> &ConnectionInfo {
        self.client.get_connection_info()
    }

    pub(crate) fn addr(&self) -> &ConnectionAddr {
        self.info().addr()
    }

    /// The same settings, for another server.
    #[cfg(any(feature = "sentinel", feature = "cluster"))]
    pub(crate) fn at(&self, host: &str, port: u16) -> RedisResult<Self> {
        let mut addr = self.addr().clone();
        match &mut addr {
            ConnectionAddr::TcpTls {
                host: h, port: p, ..
            } => (*h, *p) = (host.to_owned(), port),
            _ => addr = ConnectionAddr::Tcp(host.to_owned(), port),
        }
        let mut target = self.clone();
        target.client = Client::open(self.info().clone().set_addr(addr))?;
        Ok(target)
    }
}
