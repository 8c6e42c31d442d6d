//! TLS for connections to a server.

use std::io;
use std::sync::Arc;

use redis::ConnectionAddr;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use leasehold_core::backend::ConnectError;
use leasehold_core::backend::support::{Certificates, rustls_provider};

/// Checks the certificates for connections to the servers at `url`.
pub(crate) fn check(certificates: &Certificates, url: &str) -> Result<(), ConnectError> {
    if !certificates.is_empty() {
        let scheme = url.split(['+', ':']).next().unwrap_or_default();
        if !matches!(scheme, "rediss" | "valkeys") {
            return Err(ConnectError::certificates(
                "certificates need TLS; use a URL that begins with `rediss`",
            ));
        }
        certificates.check()?;
    }
    Ok(())
}

/// Connects to `host` over TLS. Returns an error if the client does not trust the certificate of `host`.
pub(crate) async fn over(
    stream: TcpStream,
    host: &str,
    certificates: &Certificates,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let config = certificates.client_config().map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

pub(crate) fn choose_provider(address: &ConnectionAddr) {
    if is_tls(address) {
        rustls_provider::choose();
    }
}

const fn is_tls(address: &ConnectionAddr) -> bool {
    matches!(address, ConnectionAddr::TcpTls { .. })
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;
    use rustls::crypto::CryptoProvider;

    use super::*;

    #[test]
    fn a_crypto_provider_is_chosen_for_a_tls_address() {
        // Other tests of this process may have set a provider.
        let address = |url: &str| url.into_connection_info().unwrap().addr().clone();
        assert!(!is_tls(&address("redis://host")));
        assert!(is_tls(&address("rediss://host")));
        choose_provider(&address("rediss://host"));
        assert!(CryptoProvider::get_default().is_some());
    }
}
