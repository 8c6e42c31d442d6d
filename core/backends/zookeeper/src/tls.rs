//! TLS for connections to the ensemble.

use pem::Pem;
use rustls::pki_types::ServerName;
use zookeeper_client::{Error, TlsCa, TlsCerts, TlsIdentity, TlsOptions};

use leasehold_core::backend::ConnectError;
use leasehold_core::backend::support::Certificates;

/// Reads the certificates, and the system's authorities if no authorities were set.
pub(super) fn read(certificates: &Certificates) -> Result<TlsOptions, ConnectError> {
    certificates.check()?;
    let authorities = match &certificates.authorities {
        Some(given) => TlsCa::from_pem(given).map_err(unusable(
            "the authorities contain no readable certificate; give PEM",
        ))?,
        None => TlsCa::from_pem(&systems()?).map_err(unusable(
            "no certificate that the system trusts is readable; give `authorities`",
        ))?,
    };
    let mut all = TlsCerts::builder().with_ca(authorities);
    if let Some((certificate, key)) = &certificates.client {
        all = all.with_identity(TlsIdentity::from_pem(certificate, key).map_err(unusable(
            "the client's certificate or its private key is unreadable; give PEM, the key without a password",
        ))?);
    }
    let all = all.build().map_err(unusable("they are incomplete"))?;
    Ok(TlsOptions::new().with_certs(all))
}

/// Returns whether a server of this name can have a certificate. For other names the client panics.
pub(super) fn can_have_certificate(server: &str) -> bool {
    let host = match server.strip_prefix('[').and_then(|s| s.split_once(']')) {
        Some((address, _port)) => address,
        None => server.rsplit_once(':').map_or(server, |(host, _port)| host),
    };
    ServerName::try_from(host).is_ok()
}

/// Returns the certificates that the system trusts, as PEM.
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

/// Converts the client's error to text, because the client's types are not part of our API.
fn unusable(why: &'static str) -> impl Fn(Error) -> ConnectError {
    move |error| ConnectError::certificates(format!("{why} ({error})"))
}
