//! TLS for connections to a server.

use std::io;
use std::sync::Arc;

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, TlsCertificates};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::load_native_certs;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::backend::certificates::Certificates;
use crate::backend::{ConnectError, rustls_provider};

/// An address with what connections to the servers at `url` are made with, if there are certificates for them.
pub(crate) fn read(
    certificates: &Certificates,
    url: &str,
) -> Result<Option<ConnectionAddr>, ConnectError> {
    if certificates.is_empty() {
        return Ok(None);
    }
    let scheme = url.split(['+', ':']).next().unwrap_or_default();
    if !matches!(scheme, "rediss" | "valkeys") {
        return Err(ConnectError::certificates(
            "they are for TLS, which the URL does not ask for; begin it with `rediss`",
        ));
    }
    certificates.check()?;
    let client = certificates.client.as_ref();
    let all = TlsCertificates {
        client_tls: client.map(|(certificate, key)| ClientTlsConfig {
            client_cert: certificate.clone().into_bytes(),
            client_key: key.clone().into_bytes(),
        }),
        root_cert: certificates.authorities.clone().map(String::into_bytes),
    };
    let read = Client::build_with_tls("rediss://any", all).map_err(ConnectError::certificates)?;
    Ok(Some(read.get_connection_info().addr().clone()))
}

/// The same server, reached with the certificates of `like`: they have no type of their own that could be named.
pub(crate) fn with(info: ConnectionInfo, like: Option<&ConnectionAddr>) -> ConnectionInfo {
    let like = like.and_then(|like| match like {
        ConnectionAddr::TcpTls { tls_params, .. } => Some(tls_params),
        _ => None,
    });
    match (info.addr().clone(), like) {
        (
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure,
                ..
            },
            Some(tls_params),
        ) => info.set_addr(ConnectionAddr::TcpTls {
            host,
            port,
            insecure,
            tls_params: tls_params.clone(),
        }),
        _ => info,
    }
}

/// Speaks TLS to `host`, which has to have a certificate of one whom the system trusts.
pub(crate) async fn over(stream: TcpStream, host: &str) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let connector = TlsConnector::from(Arc::new(trusting()?));
    connector.connect(name, stream).await
}

fn trusting() -> io::Result<ClientConfig> {
    let mut found = load_native_certs();
    if let Some(error) = found.errors.pop() {
        return Err(io::Error::other(error));
    }
    let mut authorities = RootCertStore::empty();
    for certificate in found.certs {
        authorities.add(certificate).map_err(io::Error::other)?;
    }
    rustls_provider::choose();
    let config = ClientConfig::builder().with_root_certificates(authorities);
    Ok(config.with_no_client_auth())
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
    fn a_provider_is_chosen_for_tls_alone() {
        // Other tests may have chosen one for this process.
        let address = |url: &str| url.into_connection_info().unwrap().addr().clone();
        assert!(!is_tls(&address("redis://host")));
        assert!(is_tls(&address("rediss://host")));
        choose_provider(&address("rediss://host"));
        assert!(CryptoProvider::get_default().is_some());
    }
}
