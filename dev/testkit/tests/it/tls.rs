//! Servers with TLS.

use std::sync::Arc;

use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::resp::RawClient;
use leasehold_testkit::servers::{Certificates, RedisServer};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::fake::Outcome;
use crate::servers::at;

type Failure = Box<dyn std::error::Error>;

async fn connect(port: u16, with: &Certificates, mutual: bool) -> Result<RawClient, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(with.authority.as_bytes())?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let config = if mutual {
        let certificate = CertificateDer::from_pem_slice(with.client.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(with.client_key.as_bytes())?;
        config.with_client_auth_cert(vec![certificate], key)?
    } else {
        config.with_no_client_auth()
    };
    let tcp = TcpStream::connect(at(port)).await?;
    let name = ServerName::try_from("localhost")?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await?;
    Ok(RawClient::over(stream))
}

#[tokio::test]
async fn tls_server_refuses_plain_and_untrusted_connections() -> Outcome {
    let server = RedisServer::builder().tls().start().await?;
    let port = server.port();
    assert_eq!(server.url(), format!("rediss://127.0.0.1:{port}"));
    let certificates = server.certificates().ok_or("it has certificates")?;
    let mut client = connect(port, certificates, false).await?;
    client.command(["PING"]).await?;

    let mut plain = RawClient::connect(&at(port)).await?;
    assert!(plain.command(["PING"]).await.is_err());
    let stranger = RedisServer::builder().tls().start().await?;
    let foreign = stranger.certificates().ok_or("it has certificates")?;
    assert!(connect(port, foreign, false).await.is_err());

    server.restart_empty().await?;
    connect(port, certificates, false)
        .await?
        .command(["PING"])
        .await?;
    Ok(())
}

#[tokio::test]
async fn mutual_tls_server_requires_a_client_certificate() -> Outcome {
    let server = RedisServer::builder().mutual_tls().start().await?;
    let certificates = server.certificates().ok_or("it has certificates")?;
    let mut client = connect(server.port(), certificates, true).await?;
    client.command(["PING"]).await?;
    // In TLS 1.3 the client notices the refusal only when it reads.
    if let Ok(mut client) = connect(server.port(), certificates, false).await {
        assert!(client.command(["PING"]).await.is_err());
    }
    Ok(())
}

#[tokio::test]
async fn proxy_forwards_encrypted_connections() -> Outcome {
    let server = RedisServer::builder().tls().start().await?;
    let proxy = Proxy::start(server.port()).await?;
    let certificates = server.certificates().ok_or("it has certificates")?;
    let mut client = connect(proxy.port(), certificates, false).await?;
    for _ in 0..10 {
        client.command(["PING"]).await?;
    }
    proxy.cut();
    assert!(client.command(["PING"]).await.is_err());
    Ok(())
}
