//! Encryption: whom to trust, and who we are.

use std::error::Error as StdError;
use std::fmt;

use pem::Pem;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use zookeeper_client::{Error, TlsCa, TlsCerts, TlsIdentity, TlsOptions};

use crate::backend::{ConnectError, provider};

/// What the builder was given, as PEM.
#[derive(Clone, Default)]
pub(super) struct Certificates {
    pub(super) authorities: Option<String>,
    /// A certificate, with those between it and its authority, and its private key.
    pub(super) client: Option<(String, String)>,
}

impl Certificates {
    pub(super) fn is_empty(&self) -> bool {
        self.authorities.is_none() && self.client.is_none()
    }

    /// Reads them, and the system's authorities if none were given.
    pub(super) fn read(&self) -> Result<TlsOptions, ConnectError> {
        provider::choose();
        let authorities = match &self.authorities {
            Some(given) => TlsCa::from_pem(given).map_err(unusable(
                "the authorities have no certificate that can be read; give PEM",
            ))?,
            None => TlsCa::from_pem(&systems()?).map_err(unusable(
                "no certificate that the system trusts can be read; give `authorities`",
            ))?,
        };
        let mut certificates = TlsCerts::builder().with_ca(authorities);
        if let Some((certificate, key)) = &self.client {
            let identity = TlsIdentity::from_pem(certificate, key).map_err(unusable(
                "the client's certificate or its private key cannot be read; give PEM, the key without a password",
            ))?;
            fit(certificate, key).map_err(|error| {
                ConnectError::certificates(format!(
                    "the client's certificate and its private key do not fit each other ({error})"
                ))
            })?;
            certificates = certificates.with_identity(identity);
        }
        let certificates = certificates
            .build()
            .map_err(unusable("they are incomplete"))?;
        Ok(TlsOptions::new().with_certs(certificates))
    }
}

/// The client says so only when it connects, and then not so that it could be told from other failures.
fn fit(certificate: &str, key: &str) -> Result<(), Box<dyn StdError + Send + Sync>> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty());
    config.with_client_auth_cert(chain?, key)?;
    Ok(())
}

/// Whether a server of this name can be asked for a certificate: the client panics otherwise.
pub(super) fn can_have_certificate(server: &str) -> bool {
    let host = match server.strip_prefix('[').and_then(|s| s.split_once(']')) {
        Some((address, _port)) => address,
        None => server.rsplit_once(':').map_or(server, |(host, _port)| host),
    };
    ServerName::try_from(host).is_ok()
}

/// The certificates that the system trusts, as PEM.
fn systems() -> Result<String, ConnectError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map(|error| format!(": {error}"));
        let why = why.unwrap_or_default();
        return Err(ConnectError::certificates(format!(
            "the system trusts no authority; install the package `ca-certificates`, or give `authorities`{why}"
        )));
    }
    let certificates = found.certs.iter();
    let certificates: Vec<Pem> = certificates
        .map(|it| Pem::new("CERTIFICATE", &**it))
        .collect();
    Ok(pem::encode_many(&certificates))
}

/// No type of the client is part of our interface.
fn unusable(why: &'static str) -> impl Fn(Error) -> ConnectError {
    move |error| ConnectError::certificates(format!("{why} ({error})"))
}

/// Without what it was given, which may be a key where none should be.
impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("authorities", &self.authorities.is_some())
            .field("client", &self.client.is_some())
            .finish()
    }
}
