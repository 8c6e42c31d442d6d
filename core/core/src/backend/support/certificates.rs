//! Certificates for TLS, as PEM: the authorities to trust, and the client's own certificate.

use std::error::Error;
use std::fmt;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::rustls_provider;
use crate::ConnectError;

/// The certificates that the user has set on a builder.
#[derive(Clone, Default)]
pub struct Certificates {
    /// The certificates of the authorities to trust. Without them, those that the system trusts.
    pub authorities: Option<String>,
    /// A certificate with its intermediates, and its private key.
    pub client: Option<(String, String)>,
}

impl Certificates {
    /// Returns whether the user has set none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.authorities.is_none() && self.client.is_none()
    }

    /// Checks the certificates. Without this check a client would report invalid certificates only when it connects.
    /// Its error would not name the cause.
    ///
    /// # Errors
    ///
    /// Returns [`ConnectError::Certificates`] if a text is not PEM, or the certificate and its key do not match.
    pub fn check(&self) -> Result<(), ConnectError> {
        rustls_provider::choose();
        if let Some(authorities) = &self.authorities {
            let error = match store(authorities) {
                Ok(store) if store.is_empty() => "it contains no certificate".into(),
                Ok(_) => return self.check_client(),
                Err(error) => error,
            };
            return Err(ConnectError::certificates(format!(
                "the authorities contain no readable certificate; give PEM ({error})"
            )));
        }
        self.check_client()
    }

    /// Returns a configuration with these certificates. Without authorities this reads the system's certificates, which
    /// may change.
    ///
    /// # Errors
    ///
    /// Returns the error of rustls, or of reading the certificates of the system.
    pub fn client_config(&self) -> Result<ClientConfig, AnyError> {
        rustls_provider::choose();
        let trusted = match &self.authorities {
            Some(authorities) => store(authorities)?,
            None => systems()?,
        };
        match &self.client {
            Some((certificate, key)) => identified(
                trusted,
                certificate,
                PrivateKeyDer::from_pem_slice(key.as_bytes())?,
            ),
            None => {
                let config = ClientConfig::builder().with_root_certificates(trusted);
                Ok(config.with_no_client_auth())
            }
        }
    }

    fn check_client(&self) -> Result<(), ConnectError> {
        let Some((certificate, key)) = &self.client else {
            return Ok(());
        };
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| {
            ConnectError::certificates(format!(
                "the client's private key is unreadable; give PEM, without a password ({error})"
            ))
        })?;
        fit(certificate, key).map_err(|error| {
            ConnectError::certificates(format!(
                "the client's certificate and its private key do not match ({error})"
            ))
        })
    }
}

type AnyError = Box<dyn Error + Send + Sync>;

/// Returns the certificates to trust.
fn store(authorities: &str) -> Result<RootCertStore, AnyError> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
        store.add(certificate?)?;
    }
    Ok(store)
}

fn systems() -> Result<RootCertStore, AnyError> {
    let mut found = rustls_native_certs::load_native_certs();
    if let Some(error) = found.errors.pop() {
        return Err(error.into());
    }
    let mut store = RootCertStore::empty();
    for certificate in found.certs {
        store.add(certificate)?;
    }
    Ok(store)
}

fn fit(certificate: &str, key: PrivateKeyDer<'static>) -> Result<(), AnyError> {
    identified(RootCertStore::empty(), certificate, key).map(drop)
}

/// Trusts these authorities, and presents this certificate if the server requests one.
fn identified(
    trusted: RootCertStore,
    certificate: &str,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, AnyError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let config = ClientConfig::builder().with_root_certificates(trusted);
    Ok(config.with_client_auth_cert(chain?, key)?)
}

/// Omits the input, which may contain a misplaced private key.
impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("authorities", &self.authorities.is_some())
            .field("client", &self.client.is_some())
            .finish()
    }
}
