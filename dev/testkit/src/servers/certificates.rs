//! Certificates for one server and its clients, which are only valid on this machine.

use std::io;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use super::error::ServerError;

/// The certificates and keys for TLS, as PEM. One authority has signed both certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// The certificate of the authority, which clients trust.
    pub authority: String,
    /// The certificate of the server, for `localhost` and 127.0.0.1.
    pub server: String,
    /// The server's private key.
    pub server_key: String,
    /// The certificate of a client, for servers that require one.
    pub client: String,
    /// The client's private key.
    pub client_key: String,
    authority_key: String,
}

/// The files in the folder of a server.
pub(super) const AUTHORITY: &str = "authority.pem";
pub(super) const SERVER: &str = "server.pem";
pub(super) const SERVER_KEY: &str = "server.key";
/// The file that contains both key and certificate.
pub(super) const SERVER_STORE: &str = "server-store.pem";

impl Certificates {
    /// Creates new certificates.
    pub(super) fn make() -> Result<Self, rcgen::Error> {
        let authority = authority(KeyPair::generate()?)?;
        let (server, server_key) = signed(&server()?, &authority)?;
        let (client, client_key) = signed(&named("client", &["client"])?, &authority)?;
        Ok(Self {
            authority: authority.pem(),
            server,
            server_key,
            client,
            client_key,
            authority_key: authority.key().serialize_pem(),
        })
    }

    /// Returns the certificates with a new one for the server, from the same authority.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Certificates`] if it cannot be created.
    pub fn renewed(&self) -> Result<Self, ServerError> {
        Ok(self.with_server(&server()?)?)
    }

    /// Like [`renewed`](Self::renewed), but the new certificate has expired.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`renewed`](Self::renewed).
    pub fn expired(&self) -> Result<Self, ServerError> {
        let mut expired = server()?;
        expired.not_after = date_time_ymd(2001, 1, 1);
        Ok(self.with_server(&expired)?)
    }

    fn with_server(&self, server: &CertificateParams) -> Result<Self, rcgen::Error> {
        let authority = authority(KeyPair::from_pem(&self.authority_key)?)?;
        let (server, server_key) = signed(server, &authority)?;
        Ok(Self {
            server,
            server_key,
            ..self.clone()
        })
    }

    /// Writes the files of the server into its folder.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let store = format!("{}{}", self.server_key, self.server);
        let files = [
            (AUTHORITY, &self.authority),
            (SERVER, &self.server),
            (SERVER_KEY, &self.server_key),
            (SERVER_STORE, &store),
        ];
        files
            .iter()
            .try_for_each(|(name, pem)| std::fs::write(folder.join(name), pem))
    }
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(key: KeyPair) -> Result<Authority, rcgen::Error> {
    let mut params = named("Leasehold's test authority", &[])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, key)
}

/// Returns a certificate and its private key.
fn signed(
    params: &CertificateParams,
    authority: &Authority,
) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn server() -> Result<CertificateParams, rcgen::Error> {
    named("server", &["localhost", "127.0.0.1"])
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts: Vec<String> = hosts.iter().map(|&it| it.to_owned()).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
