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
    /// The builder's certificates. A `Client` of the `redis` crate with certificates does not show them. It opens its
    /// connections itself, and bounds neither the size of a reply nor how much it reads in one poll.
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

    /// Returns another server, with the same settings.
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

#[cfg(all(test, any(feature = "sentinel", feature = "cluster")))]
mod tests {
    use super::*;
    use crate::backend::redis::url;

    #[test]
    fn another_server_is_reached_with_the_same_settings() {
        for (url, is_tls) in [
            ("redis://u:p@a:1/3", false),
            #[cfg(feature = "tls-rustls")]
            ("rediss://u:p@a:1/3", true),
        ] {
            let target = Target::open(url::one(url).unwrap()).unwrap();
            let other = target.at("c", 5).unwrap();
            assert_eq!(other.addr().to_string(), "c:5");
            let tls = matches!(other.addr(), ConnectionAddr::TcpTls { .. });
            assert_eq!(tls, is_tls, "{url}");
            let settings = |target: &Target| {
                let redis = target.info().redis_settings().clone();
                let login = (
                    redis.username().map(str::to_owned),
                    redis.password().map(str::to_owned),
                );
                (login, redis.db())
            };
            assert_eq!(settings(&other), settings(&target));
        }
    }
}
